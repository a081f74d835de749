"""The recipe of the verb `analyze neighbours`: the sentences nearest to some queries under several encoders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from ...encoders.search.build import text_keys
from ...encoders.search.index import Neighbour
from ...errors import InputError
from ...filtering.tokens import tokenize
from ...settings import recipe, setting
from ...tables import format_table, plain_markdown, short_names
from ..report import report
from .queries import QuerySettings

_MOST_ROWS = 50
_SHOWN = 20
_LONGEST = 160
Lists = dict[str, list[list[Neighbour]]]
"""For each encoder by its name the neighbours of every query, the nearest first; none if it knows no word of it."""


@dataclass(kw_only=True)
class NeighbourSettings(QuerySettings):
    """Shows which sentences are nearest to a query under each of several encoders (paper 003, tables 4, 5, 10, 11).

    Every sentence is compared. Sentences that differ in case and spacing only count once, the query itself not at all.
    """

    neighbours: int = setting(
        "how many nearest sentences of each query to list", 10, names=["--neighbours", "--top-k"], at_least=1
    )


@recipe(NeighbourSettings)
def analyze_neighbours(settings: NeighbourSettings) -> Lists:
    """Shows which sentences are nearest to a query under each of several encoders (paper 003, tables 4, 5, 10, 11).

    Returns:
        For each encoder by its name the neighbours of every query.
    """
    queries = settings.read_queries()
    lists: Lists = {}
    with report("neighbours", settings, settings.inputs(), card="analysis_neighbours") as output:
        for name, index in settings.indexes(output.artefact.work, keep_repeated=False):
            # A sentence stands in the index once, so that the query itself takes one place at most.
            found = index.neighbours(queries, settings.neighbours + 1)
            lists[name] = [_others(*each)[: settings.neighbours] for each in zip(queries, found, strict=True)]
        if not any(any(found) for found in lists.values()):
            raise InputError(
                "no neighbour of any query: no word of the queries is in the encoders' vocabularies",
                path=settings.text[0],
                remedy="give sentences in the language that the encoders were trained on",
            )
        rows = (
            [query, name, rank, f"{item.score:.6f}", item.position, item.sentence]
            for number, query in enumerate(queries)
            for name, found in lists.items()
            for rank, item in enumerate(found[number], start=1)
        )
        output.table("neighbours", ["query", "model", "rank", "cosine", "position", "sentence"], rows)
        shown = [
            {
                "query": plain_markdown(query, _LONGEST),
                "table": _side_by_side({name: found[number] for name, found in lists.items()}),
                "unknown": [name for name, found in lists.items() if not found[number]],
            }
            for number, query in enumerate(queries[:_SHOWN])
        ]
        summary = {name: _means(queries, found) for name, found in lists.items()}
        table = _summary_table(summary)
        values = {
            "models": list(lists),
            "texts": short_names(settings.text),
            "k": settings.neighbours,
            "rows": _MOST_ROWS,
            "total": len(queries),
            "shown": shown,
            "summary": table,
        }
        output.finish({"queries": len(queries), "summary": summary}, values, table)
    return lists


def _others(query: str, neighbours: list[Neighbour]) -> list[Neighbour]:
    """Leaves out what is the query itself but for case and spacing."""
    keys = text_keys([query, *(item.sentence for item in neighbours)])
    return [item for item, key in zip(neighbours, keys[1:], strict=True) if key != keys[0]]


def _means(queries: Sequence[str], found: Sequence[Sequence[Neighbour]]) -> dict[str, float | None]:
    """Averages the lists of a model over the queries that have neighbours; None where none has.

    The paper says of word averaging that its neighbours are "bags of synonyms", sentences with the same or similar
    words (section 4.2.1): `shared_words` is the share of words, in per cent, that query and neighbour have in common
    (Jaccard). `first` and `last` are cosines.
    """
    shared = [
        100 * _jaccard(_words_of(query), _words_of(item.sentence))
        for query, items in zip(queries, found, strict=True)
        for item in items
    ]
    values = {
        "first": [items[0].score for items in found if items],
        "last": [items[-1].score for items in found if items],
        "shared_words": shared,
    }
    return {name: fmean(numbers) if numbers else None for name, numbers in values.items()}


def _words_of(text: str) -> set[str]:
    return {token for token in tokenize(text) if any(letter.isalnum() for letter in token)}


def _jaccard(first: set[str], second: set[str]) -> float:
    return len(first & second) / len(first | second) if first | second else 0.0


def _side_by_side(lists: Mapping[str, Sequence[Neighbour]]) -> str:
    """Formats the neighbours of one query, a pair of columns for each model."""
    rows = []
    for rank in range(min(_MOST_ROWS, max(map(len, lists.values())))):
        row = [str(rank + 1)]
        for items in lists.values():
            is_listed = rank < len(items)
            row.append(plain_markdown(items[rank].sentence, _LONGEST) if is_listed else "")
            row.append(f"{items[rank].score:.2f}" if is_listed else "")
        rows.append(row)
    return format_table(["rank", *(cell for name in lists for cell in (name, "cosine"))], rows)


def _summary_table(summary: Mapping[str, Mapping[str, float | None]]) -> str:
    rows = []
    for name, item in summary.items():
        cells = [(item["first"], 2), (item["last"], 2), (item["shared_words"], 1)]
        rows.append([name, *("–" if value is None else f"{value:.{digits}f}" for value, digits in cells)])
    return format_table(["", "nearest: cosine", "last: cosine", "words shared with the query (%)"], rows)

"""The recipe of the verb `analyze neighbours`: the sentences nearest to some queries under several encoders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from ...encoders.search.build import text_keys
from ...encoders.search.index import Neighbour
from ...errors import InputError
from ...filtering.tokens import tokenize
from ...settings import recipe, setting
from ...tables import format_table, plain_markdown
from ..report import report
from .queries import IndexedTexts, QuerySettings

_MOST_ROWS = 50
_SHOWN = 20
LONGEST = 160
"""Characters of a sentence that a report shows."""
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
    texts = IndexedTexts(settings)
    lists: Lists = {}
    with report("neighbours", settings, settings.inputs(), card="analysis_neighbours") as output:
        for name, index in texts.indexes(output.artefact.work, keep_repeated=False):
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
            for index, query in enumerate(queries)
            for name, found in lists.items()
            for rank, item in enumerate(found[index], start=1)
        )
        output.table("neighbours", ["query", "model", "rank", "cosine", "position", "sentence"], rows)
        shown = [
            {
                "query": plain_markdown(query, LONGEST),
                "table": _side_by_side({name: found[index] for name, found in lists.items()}),
                "unknown": [name for name, found in lists.items() if not found[index]],
            }
            for index, query in enumerate(queries[:_SHOWN])
        ]
        summary = _summary(queries, lists)
        table = _summary_table(summary)
        values = {
            **texts.card(),
            "k": settings.neighbours,
            "rows": _MOST_ROWS,
            "total": len(queries),
            "shown": shown,
            "summary": table,
        }
        output.finish({"queries": len(queries), "read": texts.read, "summary": {"models": summary}}, values, table)
    return lists


def _others(query: str, neighbours: list[Neighbour]) -> list[Neighbour]:
    """Leaves out what is the query itself but for case and spacing."""
    keys = text_keys([query, *(item.sentence for item in neighbours)])
    return [item for item, key in zip(neighbours, keys[1:], strict=True) if key != keys[0]]


def _summary(queries: Sequence[str], lists: Lists) -> dict[str, Any]:
    """Averages the lists of each model over the queries that have neighbours; None where none has.

    The paper says of word averaging that its neighbours are "bags of synonyms", sentences with the same or similar
    words (section 4.2.1): `shared_words` is the share of words, in per cent, that query and neighbour have in common
    (Jaccard). `first` and `last` are cosines, `common` the share of neighbours that each other model finds too.
    """
    words = [_words_of(query) for query in queries]
    summary: dict[str, Any] = {}
    for name, found in lists.items():
        shared = [
            _jaccard(words[index], _words_of(item.sentence)) for index, items in enumerate(found) for item in items
        ]
        common: dict[str, float | None] = {}
        for other, others in lists.items():
            keys = [{_key(item) for item in items} for items in others]
            shares = [fmean(_key(item) in keys[index] for item in items) for index, items in enumerate(found) if items]
            common[other] = None if other == name else _mean(shares, 100.0)
        summary[name] = {
            "first": _mean([items[0].score for items in found if items]),
            "last": _mean([items[-1].score for items in found if items]),
            "shared_words": _mean(shared, 100.0),
            "common": common if len(lists) > 1 else {},
        }
    return summary


def _key(item: Neighbour) -> str:
    return " ".join(item.sentence.lower().split())


def _mean(values: Sequence[float], scale: float = 1.0) -> float | None:
    return scale * fmean(values) if values else None


def _words_of(text: str) -> set[str]:
    return {token for token in tokenize(text) if any(letter.isalnum() for letter in token)}


def _jaccard(first: set[str], second: set[str]) -> float:
    return len(first & second) / len(first | second) if first | second else 0.0


def _side_by_side(lists: Mapping[str, Sequence[Neighbour]]) -> str:
    """Formats the neighbours of one query as a Markdown table; sentences that all models found are in bold."""
    common = set.intersection(*({_key(item) for item in items} for items in lists.values()))
    rows = []
    for rank in range(min(_MOST_ROWS, max(map(len, lists.values())))):
        row = [str(rank + 1)]
        for items in lists.values():
            item = items[rank] if rank < len(items) else None
            text = "" if item is None else plain_markdown(item.sentence, LONGEST)
            row += [f"**{text}**" if len(lists) > 1 and item and _key(item) in common else text]
            row += ["" if item is None else f"{item.score:.2f}"]
        rows.append(row)
    return format_table(["rank", *(cell for name in lists for cell in (name, "cosine"))], rows)


def _summary_table(summary: Mapping[str, Any]) -> str:
    rows = []
    for name, item in summary.items():
        cells = [(item["first"], 2), (item["last"], 2), (item["shared_words"], 1)]
        cells += [(value, 1) for value in item["common"].values()]
        rows.append([name, *("–" if value is None else f"{value:.{digits}f}" for value, digits in cells)])
    header = ["", "nearest: cosine", "last: cosine", "words shared with the query (%)"]
    header += [f"also found by {name} (%)" for name in summary] if len(summary) > 1 else []
    return format_table(header, rows)

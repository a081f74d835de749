"""The recipe of the verb `analyze neighbours`: the sentences nearest to some queries under several encoders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

from ...errors import InputError
from ...filtering.tokens import tokenize
from ...messages import log
from ...settings import recipe, setting
from ...tables import format_table, plain_markdown
from ..report import report
from .queries import QuerySettings, Texts, embed_queries, model_names, open_encoder
from .sentence_blocks import NearestSentences, NearSentence, StreamCounts, encoded_blocks

_MOST_ROWS = 50
_SHOWN = 20
LONGEST = 160
"""Characters of a sentence that a report shows."""


@dataclass(kw_only=True)
class NeighbourSettings(QuerySettings):
    """Shows which sentences are nearest to a query under each of several encoders (paper 003, tables 4, 5, 10, 11).

    Every sentence is compared, in one pass for each model, in memory that does not grow with the text.
    """

    neighbours: int = setting(
        "how many nearest sentences of each query to list", 10, names=["--neighbours", "--top-k"], at_least=1
    )


@dataclass(frozen=True)
class Neighbours:
    """The sentences nearest to some queries.

    Attributes:
        lists: For each encoder by its name the neighbours of every query, the nearest first; none for a query of which
            it knows no word.
        summary: For each encoder the means of :func:`summarise`.
    """

    queries: list[str]
    lists: dict[str, list[list[NearSentence]]]
    summary: dict[str, dict[str, Any]]


@recipe(NeighbourSettings)
def analyze_neighbours(settings: NeighbourSettings) -> Neighbours:
    """Shows which sentences are nearest to a query under each of several encoders (paper 003, tables 4, 5, 10, 11).

    Returns:
        The neighbours.
    """
    names = model_names(settings.model)
    queries = settings.read_queries()
    texts = Texts(settings)
    # A wrong one is reported now, not after an hour with the first one.
    for model in settings.model[1:]:
        open_encoder(model, settings.device)
    lists: dict[str, list[list[NearSentence]]] = {}
    read: dict[str, dict[str, int]] = {}
    inputs = [*settings.model, *settings.text, settings.queries]
    with report("neighbours", settings, inputs, card="analysis_neighbours") as output:
        for name, model in zip(names, settings.model, strict=True):
            lists[name], counts = _search(name, model, texts, queries, settings)
            read[name] = asdict(counts)
        without = sum(not any(items) for items in zip(*lists.values(), strict=True))
        if without == len(queries):
            raise InputError(
                "no neighbour of any query: no word of the queries or of the text is in the encoders' vocabularies",
                path=settings.text[0],
                remedy="give sentences in the language that the encoders were trained on",
            )
        if without:
            log(f"{without} of {len(queries)} queries have no neighbours: no word is in an encoder's vocabulary")
        summary = summarise(queries, lists)
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
        table = _summary_table(summary)
        values = {
            **texts.metadata(),
            "texts": texts.names,
            "models": names,
            "k": settings.neighbours,
            "rows": _MOST_ROWS,
            "total": len(queries),
            "shown": shown,
            "summary": table,
            "read": read,
        }
        output.finish({"queries": len(queries), "read": read, "summary": {"models": summary}}, values, table)
    return Neighbours(queries, lists, summary)


def _search(
    name: str, model: str, texts: Texts, queries: Sequence[str], settings: NeighbourSettings
) -> tuple[list[list[NearSentence]], StreamCounts]:
    from tqdm.auto import tqdm

    encoder = open_encoder(model, settings.device)
    vectors, known = embed_queries(encoder, queries)
    nearest = NearestSentences([queries[index] for index in known], vectors, settings.neighbours)
    counts = StreamCounts()
    with tqdm(unit=" sentences", unit_scale=True, desc=name) as progress:
        blocks = encoded_blocks(texts.blocks(), encoder, counts, batch_size=settings.batch_size)
        for block in blocks if known else ():
            nearest.add(block)
            progress.update(counts.read - progress.n)
    by_query = dict(zip(known, nearest.lists, strict=True))
    return [by_query.get(index, []) for index in range(len(queries))], counts


def summarise(queries: Sequence[str], lists: Mapping[str, Sequence[Sequence[NearSentence]]]) -> dict[str, Any]:
    """Averages the lists of each model over the queries that have neighbours; None where none has.

    The paper says of word averaging that its neighbours are "bags of synonyms", sentences with the same or similar
    words (section 4.2.1): `shared_words` is the share of words, in per cent, that query and neighbour have in common
    (Jaccard). `first` and `last` are cosines, `common` the share of neighbours that each other model finds too.
    """
    words = [words_of(query) for query in queries]
    summary: dict[str, Any] = {}
    for name, found in lists.items():
        pairs = [(index, item) for index, items in enumerate(found) for item in items]
        shared = [_jaccard(words[index], words_of(item.sentence)) for index, item in pairs]
        common: dict[str, float | None] = {}
        for other, others in lists.items():
            keys = [{item.key for item in items} for items in others]
            shares = [fmean(item.key in keys[index] for item in items) for index, items in enumerate(found) if items]
            common[other] = None if other == name else _mean(shares, 100.0)
        summary[name] = {
            "first": _mean([items[0].score for items in found if items]),
            "last": _mean([items[-1].score for items in found if items]),
            "shared_words": _mean(shared, 100.0),
            "common": common if len(lists) > 1 else {},
        }
    return summary


def _mean(values: Sequence[float], scale: float = 1.0) -> float | None:
    return scale * fmean(values) if values else None


def words_of(text: str) -> set[str]:
    """Returns the lower-cased words of a text that have a letter or digit."""
    return {token for token in tokenize(text) if any(letter.isalnum() for letter in token)}


def _jaccard(first: set[str], second: set[str]) -> float:
    return len(first & second) / len(first | second) if first | second else 0.0


def _side_by_side(lists: Mapping[str, Sequence[NearSentence]]) -> str:
    """Formats the neighbours of one query as a Markdown table; sentences that all models found are in bold."""
    common = set.intersection(*({item.key for item in items} for items in lists.values()))
    rows = []
    for rank in range(min(_MOST_ROWS, max(map(len, lists.values())))):
        row = [str(rank + 1)]
        for items in lists.values():
            item = items[rank] if rank < len(items) else None
            text = "" if item is None else plain_markdown(item.sentence, LONGEST)
            row += [f"**{text}**" if len(lists) > 1 and item and item.key in common else text]
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

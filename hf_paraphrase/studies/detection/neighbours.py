"""The recipe of the verb `analyze neighbours`: the sentences nearest to some queries under several encoders."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ...artefacts.artefact import Artefact, Card
from ...artefacts.files import write_text_whole
from ...data.text_blocks import PLAIN_OR_COMPRESSED
from ...errors import InputError
from ...evaluation.figures import check_plots
from ...messages import log
from ...settings import recipe, setting
from ...tables import format_table, one_line, plain_markdown
from .inputs import QuerySettings, Texts, embed_queries, model_names, open_encoder, read_queries
from .neighbour_lists import MOST_ROWS, NeighbourSummary, side_by_side, summarise
from .plots import plot_neighbours
from .sentence_blocks import BestSentences, NearSentence, StreamCounts, encoded_blocks

_SHOWN = 20
_LONGEST = 160


@dataclass(kw_only=True)
class NeighbourSettings(QuerySettings):
    """Shows which sentences are nearest to a query under each of several encoders (paper 003, tables 4, 5, 10, 11).

    Every sentence is compared, in one pass for each model, in memory that does not grow with the text.
    """

    model: list[str] = setting("one or more folders of sentence encoders, which are shown side by side", path=True)
    text: list[str] = setting(
        f"the sentences to search: text files, one sentence a line, {PLAIN_OR_COMPRESSED}, or data folders",
        path=True,
    )


@dataclass(frozen=True)
class Neighbours:
    """The sentences nearest to some queries.

    Attributes:
        lists: For each encoder by its name the neighbours of every query, the nearest first; none for a query of which
            it knows no word.
    """

    queries: list[str]
    lists: dict[str, list[list[NearSentence]]]
    summary: NeighbourSummary


@recipe(NeighbourSettings)
def analyze_neighbours(settings: NeighbourSettings) -> Neighbours:
    """Shows which sentences are nearest to a query under each of several encoders (paper 003, tables 4, 5, 10, 11).

    Returns:
        The neighbours.
    """
    check_plots()
    names = model_names(settings.model)
    queries = read_queries(settings)
    texts = Texts(settings.text, settings.columns, settings.split)
    # Told now, not after an hour with the first one.
    for model in settings.model[1:]:
        open_encoder(model, settings.device)
    lists_by_model: dict[str, list[list[NearSentence]]] = {}
    counts: dict[str, StreamCounts] = {}
    inputs = [*settings.model, *settings.text, *([settings.queries] if settings.queries else [])]
    with Artefact(
        settings.output, command="analyze neighbours", settings=settings, inputs=inputs, overwrite=settings.overwrite
    ) as artefact:
        for name, model in zip(names, settings.model, strict=True):
            lists_by_model[name], counts[name] = _search(name, model, texts, queries, settings)
        lists = list(zip(*lists_by_model.values(), strict=True))
        if not any(any(items) for items in lists):
            raise InputError(
                "no neighbour of any query: no word of the queries or of the text is in the encoders' vocabularies",
                path=settings.text[0],
                remedy="give sentences in the language that the encoders were trained on",
            )
        plot_neighbours(lists_by_model, artefact.staging / "plots" / "cosines.png")
        summary = summarise(queries, lists_by_model)
        numbers: dict[str, Any] = {
            "queries": len(queries),
            "read": {name: asdict(item) for name, item in counts.items()},
            "summary": asdict(summary),
        }
        _write(artefact, settings, queries, lists_by_model, numbers, texts, _summary_table(asdict(summary), names))
    log(_summary_table(numbers["summary"], names).rstrip())
    without = sum(not any(items) for items in lists)
    if without:
        log(f"{without} of {len(queries)} queries have no neighbours: no word is in an encoder's vocabulary")
    log(f"the report is {settings.output}/README.md")
    return Neighbours(queries, lists_by_model, summary)


def _search(
    name: str, model: str, texts: Texts, queries: Sequence[str], settings: NeighbourSettings
) -> tuple[list[list[NearSentence]], StreamCounts]:
    from tqdm.auto import tqdm

    encoder = open_encoder(model, settings.device)
    vectors, nonzero = embed_queries(encoder, queries, settings.batch_size)
    best, counts = BestSentences([queries[number] for number in nonzero], settings.neighbours), StreamCounts()
    with tqdm(unit=" sentences", unit_scale=True, desc=name) as progress:
        if nonzero:
            for block in encoded_blocks(
                vectors,
                texts.blocks(),
                encoder,
                counts,
                batch_size=settings.batch_size,
                progress=progress.update,
            ):
                best.add(block)
    lists: list[list[NearSentence]] = [[] for _ in queries]
    for number, items in zip(nonzero, best.result(), strict=True):
        lists[number] = items
    return lists, counts


def _write(
    artefact: Artefact,
    settings: NeighbourSettings,
    queries: Sequence[str],
    lists_by_model: Mapping[str, Sequence[Sequence[NearSentence]]],
    numbers: dict[str, Any],
    texts: Texts,
    summary: str,
) -> None:
    lines = ["query\tmodel\trank\tcosine\tposition\tsentence\n"]
    for number, query in enumerate(queries):
        for name, lists in lists_by_model.items():
            lines += [
                f"{one_line(query)}\t{name}\t{rank}\t{item.score:.6f}\t{item.position}\t{one_line(item.sentence)}\n"
                for rank, item in enumerate(lists[number], start=1)
            ]
    write_text_whole(artefact.staging / "neighbours.tsv", "".join(lines))
    write_text_whole(artefact.staging / "analysis.json", json.dumps(numbers, indent=2, ensure_ascii=False) + "\n")
    shown = [
        {
            "query": plain_markdown(query, _LONGEST),
            "table": side_by_side([(name, lists[number]) for name, lists in lists_by_model.items()], _LONGEST),
            "unknown": [name for name, lists in lists_by_model.items() if not lists[number]],
        }
        for number, query in enumerate(queries[:_SHOWN])
    ]
    values = {
        **texts.metadata(),
        "texts": texts.names,
        "models": list(lists_by_model),
        "k": settings.neighbours,
        "rows": MOST_ROWS,
        "total": len(queries),
        "shown": shown,
        "summary": summary,
        "read": numbers["read"],
    }
    artefact.finish(results=numbers, card=Card("analysis_neighbours", values, report=True))


def _summary_table(summary: dict[str, Any], names: Sequence[str]) -> str:
    rows = []
    for name in names:
        model_summary = summary["models"][name]
        cells = [model_summary["first"], model_summary["last"], model_summary["shared_words"]]
        digits = (2, 2, 1)
        rows.append(
            [name]
            + ["–" if value is None else f"{value:.{place}f}" for value, place in zip(cells, digits, strict=True)]
            + [("–" if value is None else f"{value:.1f}") for value in model_summary["common"].values()]
        )
    header = ["", "nearest: cosine", "last: cosine", "words shared with the query (%)"]
    header += [f"also found by {name} (%)" for name in names] if len(names) > 1 else []
    return format_table(header, rows)

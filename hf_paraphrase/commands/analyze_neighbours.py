"""`analyze neighbours`: the sentences nearest to some queries under several models, side by side."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from ..artefacts.cards import write_card
from ..artefacts.folders import check_output, output_folder, write_text_whole
from ..artefacts.provenance import write_provenance
from ..data.text_files import PLAIN_OR_COMPRESSED
from ..encoders.devices import check_device, device_setting
from ..errors import InputError
from ..evaluation.figures import check_plots
from ..evaluation.tables import format_table
from ..messages import say
from ..settings import setting, settings_of
from ..studies.analysis.neighbour_lists import MOST_ROWS, side_by_side, summarise
from ..studies.analysis.plain_text import one_line, plain_markdown
from .analysis_inputs import Texts, check_numbers, embed_queries, model_names, open_encoder, read_queries
from .arguments import parse

if TYPE_CHECKING:
    from ..studies.analysis.best_sentences import NearSentence
    from ..studies.analysis.sentence_blocks import StreamCounts

_KIND = "neighbours"
_SHOWN = 20
_LONGEST = 160


@dataclass
class Arguments:
    """Shows which sentences are nearest to a query under each of several encoders (paper 003, tables 4, 5, 10, 11).

    Every sentence is compared, in one pass for each model, in memory that does not grow with the text.
    """

    model: list[str] = setting("one or more folders of sentence encoders, which are shown side by side")
    text: list[str] = setting(
        f"the sentences to search: one or more text files, one sentence a line, {PLAIN_OR_COMPRESSED}, or data folders"
    )
    output: str = setting("the folder to make; the report is its README.md")
    query: list[str] = setting("one or more sentences, in quotes, whose neighbours are shown", [])
    queries: str | None = setting(
        "a text file of such sentences, one a line, 1,000 at most", None, names=["--queries", "--query-file"]
    )
    neighbours: int = setting("how many neighbours of each query", 10, names=["--neighbours", "--top-k"])
    columns: list[str] = setting(
        "columns of the data folders to read, separated by commas or spaces; by default sentence, text, sentence1 and "
        "sentence2, as far as there are",
        [],
    )
    split: str | None = setting("split of the data folders to read [default: train]", None)
    batch_size: int = setting("sentences in a padded batch; a model of type avg needs no batches", 256)
    device: str = device_setting()
    overwrite: bool = setting("replace an existing output folder", False)


def main(argv: Sequence[str]) -> None:
    """Runs `analyze neighbours`.

    Raises:
        UsageError: For arguments that do not fit.
        InputError: For texts or queries that cannot be read, or of which no encoder knows a word.
        ModelError: If a folder is not a sentence encoder.
        OutputError: If the output is in the way.
    """
    arguments = parse(Arguments, f"analyze {_KIND}", argv)
    check_numbers(_KIND, arguments, neighbours=1, batch_size=1)
    check_device(arguments.device)
    check_output(arguments.output, overwrite=arguments.overwrite)
    check_plots()
    names = model_names(_KIND, arguments.model)
    queries = read_queries(_KIND, arguments.query, arguments.queries)
    texts = Texts(arguments.text, arguments.columns, arguments.split)
    # Told now, not after an hour with the first one.
    for model in arguments.model[1:]:
        open_encoder(model, arguments.device)
    found: dict[str, list[list[NearSentence]]] = {}
    counts: dict[str, StreamCounts] = {}
    with output_folder(arguments.output, overwrite=arguments.overwrite) as staging:
        for name, model in zip(names, arguments.model, strict=True):
            found[name], counts[name] = _search(name, model, texts, queries, arguments)
        lists = list(zip(*found.values(), strict=True))
        if not any(any(items) for items in lists):
            raise InputError(
                "no neighbour of any query: the encoders know no word of the queries or of the text",
                path=arguments.text[0],
                remedy="give sentences in the language that the encoders were trained on",
            )
        from ..studies.analysis.similarity_plots import plot_neighbours

        plot_neighbours(found, staging / "plots" / "cosines.png")
        summary = summarise(queries, found)
        numbers: dict[str, Any] = {
            "queries": len(queries),
            "read": {name: asdict(item) for name, item in counts.items()},
            "summary": asdict(summary),
        }
        _write(staging, arguments, queries, found, numbers, texts, _summary_table(asdict(summary), names))
    say(_summary_table(numbers["summary"], names).rstrip())
    without = sum(not any(items) for items in lists)
    if without:
        say(f"{without} of {len(queries)} queries have no neighbours: no encoder knows a word of them")
    say(f"the report is {arguments.output}/README.md")


def _search(
    name: str, model: str, texts: Texts, queries: Sequence[str], arguments: Arguments
) -> tuple[list[list[NearSentence]], StreamCounts]:
    from tqdm.auto import tqdm

    from ..studies.analysis.best_sentences import BestSentences
    from ..studies.analysis.sentence_blocks import StreamCounts, encoded_blocks

    encoder = open_encoder(model, arguments.device)
    vectors, known = embed_queries(encoder, queries, arguments.batch_size)
    best, counts = BestSentences([queries[number] for number in known], arguments.neighbours), StreamCounts()
    with tqdm(unit=" sentences", unit_scale=True, desc=name) as progress:
        if known:
            for block in encoded_blocks(
                vectors,
                texts.blocks(),
                encoder,
                counts,
                batch_size=arguments.batch_size,
                progress=progress.update,
            ):
                best.add(block)
    lists: list[list[NearSentence]] = [[] for _ in queries]
    for number, items in zip(known, best.result(), strict=True):
        lists[number] = items
    return lists, counts


def _write(
    staging: Any,
    arguments: Arguments,
    queries: Sequence[str],
    found: Mapping[str, Sequence[Sequence[NearSentence]]],
    numbers: dict[str, Any],
    texts: Texts,
    summary: str,
) -> None:
    lines = ["query\tmodel\trank\tcosine\tposition\tsentence\n"]
    for number, query in enumerate(queries):
        for name, lists in found.items():
            lines += [
                f"{one_line(query)}\t{name}\t{rank}\t{item.score:.6f}\t{item.position}\t{one_line(item.sentence)}\n"
                for rank, item in enumerate(lists[number], start=1)
            ]
    write_text_whole(staging / "neighbours.tsv", "".join(lines))
    write_text_whole(staging / "analysis.json", json.dumps(numbers, indent=2, ensure_ascii=False) + "\n")
    settings = {name: value for name, value in settings_of(arguments).items() if name != "overwrite"}
    inputs = [*arguments.model, *arguments.text, *([arguments.queries] if arguments.queries else [])]
    write_provenance(staging, command=f"analyze {_KIND}", settings=settings, inputs=inputs, results=numbers)
    shown = [
        {
            "query": plain_markdown(query, _LONGEST),
            "table": side_by_side([(name, lists[number]) for name, lists in found.items()], _LONGEST),
            "unknown": [name for name, lists in found.items() if not lists[number]],
        }
        for number, query in enumerate(queries[:_SHOWN])
    ]
    values = {
        **texts.metadata(),
        "texts": texts.names,
        "models": list(found),
        "k": arguments.neighbours,
        "rows": MOST_ROWS,
        "total": len(queries),
        "shown": shown,
        "summary": summary,
        "read": numbers["read"],
    }
    write_card(staging, "dataset_cards", "analysis_neighbours", values)


def _summary_table(summary: dict[str, Any], names: Sequence[str]) -> str:
    rows = []
    for name in names:
        item = summary["models"][name]
        cells = [item["first"], item["last"], item["shared_words"]]
        digits = (2, 2, 1)
        rows.append(
            [name]
            + ["–" if value is None else f"{value:.{place}f}" for value, place in zip(cells, digits, strict=True)]
            + [("–" if value is None else f"{value:.1f}") for value in item["common"].values()]
        )
    header = ["", "nearest: cosine", "last: cosine", "words shared with the query (%)"]
    header += [f"also found by {name} (%)" for name in names] if len(names) > 1 else []
    return format_table(header, rows)

"""`analyze similarities`: how the similarities of a sentence to all sentences of a text are distributed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..artefacts.cards import write_card
from ..artefacts.folders import check_output, output_folder, write_text_whole
from ..artefacts.provenance import write_provenance
from ..data.text_files import PLAIN_OR_COMPRESSED
from ..encoders.devices import check_device, device_setting
from ..errors import InputError, UsageError
from ..evaluation.figures import check_plots
from ..evaluation.tables import format_table
from ..messages import say
from ..settings import setting, settings_of
from ..studies.analysis.neighbour_lists import side_by_side
from ..studies.analysis.plain_text import one_line, plain_markdown
from .analysis_inputs import Texts, check_numbers, embed_queries, model_names, open_encoder, read_queries
from .arguments import parse

if TYPE_CHECKING:
    from ..encoders.search.vector_file import VectorFile
    from ..studies.analysis.best_sentences import NearSentence
    from ..studies.analysis.sentence_blocks import SentenceBlock, StreamCounts
    from ..studies.analysis.similarity_bands import Band
    from ..studies.analysis.similarity_distribution import SimilarityDistribution

_KIND = "similarities"
_EXAMPLES = 3
_SHOWN = 12
_LONGEST = 160


@dataclass
class Arguments:
    """Counts the cosines of one or more sentences with all sentences of a text (paper 003, section 4.2.1, figure 1).

    Every sentence is compared and none is kept, so memory does not grow with the text. Vectors that
    `hf-paraphrase encode` wrote can take the place of encoding the text.
    """

    model: list[str] = setting("one or more folders of sentence encoders")
    output: str = setting("the folder to make; the report is its README.md")
    text: list[str] = setting(
        f"the sentences: one or more text files, one sentence a line, {PLAIN_OR_COMPRESSED}, or data folders; "
        "may be left out where there are --vectors, but then no sentence can be shown",
        [],
    )
    vectors: list[str] = setting(
        "the vectors of these sentences, a .npy file of float32 or float16 (sentences, dim) for each model, in the "
        "same order, line by line those of --text; by default the sentences are encoded",
        [],
    )
    query: list[str] = setting("one or more sentences, in quotes, whose similarities are counted", [])
    queries: str | None = setting(
        "a text file of such sentences, one a line, 1,000 at most", None, names=["--queries", "--query-file"]
    )
    thresholds: list[float] = setting(
        "cosines, from -1 to 1, for which the share of sentences that reach them is given", [0.5, 0.6, 0.7, 0.8, 0.9]
    )
    neighbours: int = setting(
        "how many nearest sentences of each query to list", 10, names=["--neighbours", "--top-k"]
    )
    examples: int | None = setting(
        "with --text: how many sentences to show of each band of 0.1 of the cosine, drawn at random, for the first 12 "
        "queries; 0 for none [default: 3]",
        None,
    )
    columns: list[str] = setting(
        "columns of the data folders to read, separated by commas or spaces; by default sentence, text, sentence1 and "
        "sentence2, as far as there are",
        [],
    )
    split: str | None = setting("split of the data folders to read [default: train]", None)
    batch_size: int = setting("sentences in a padded batch; a model of type avg needs no batches", 256)
    device: str = device_setting()
    seed: int | None = setting("with --text: seed of the draw of examples [default: 0]", None)
    overwrite: bool = setting("replace an existing output folder", False)


@dataclass(frozen=True, eq=False)
class _Found:
    """What one model gives: by the number of the query, for queries of which it knows a word."""

    distributions: dict[int, SimilarityDistribution]
    nearest: dict[int, list[NearSentence]]
    examples: dict[int, list[list[str]]]
    counts: StreamCounts


def main(argv: Sequence[str]) -> None:
    """Runs `analyze similarities`.

    Raises:
        UsageError: For arguments that do not fit.
        InputError: For texts, vectors or queries that cannot be read, or of which no encoder knows a word.
        ModelError: If a folder is not a sentence encoder, or not that of the vectors.
        OutputError: If the output is in the way.
    """
    arguments = parse(Arguments, f"analyze {_KIND}", argv)
    _check(arguments)
    names = model_names(_KIND, arguments.model)
    queries = read_queries(_KIND, arguments.query, arguments.queries)
    texts = Texts(arguments.text, arguments.columns, arguments.split)
    stored = _stored(arguments)
    found: dict[str, _Found] = {}
    with output_folder(arguments.output, overwrite=arguments.overwrite) as staging:
        for place, (name, model) in enumerate(zip(names, arguments.model, strict=True)):
            found[name] = _count(name, model, stored[place] if stored else None, texts, queries, arguments)
        if not any(distribution.size for item in found.values() for distribution in item.distributions.values()):
            raise InputError(
                "nothing to count: the encoders know no word of the queries or of the text",
                path=(arguments.text or arguments.vectors)[0],
                remedy="give sentences in the language that the encoders were trained on",
            )
        record = _record(queries, found)
        _write(staging, arguments, queries, found, record, texts)
    table = _table(queries, found, arguments.thresholds)
    say(table.rstrip())
    say(f"the report is {arguments.output}/README.md")


def _check(arguments: Arguments) -> None:
    """Refuses what does not fit together before any long work."""
    check_numbers(_KIND, arguments, neighbours=1, examples=0, batch_size=1, seed=0)
    wrong = None
    if not arguments.text and not arguments.vectors:
        wrong = "give --text, --vectors or both"
    elif arguments.vectors and len(arguments.vectors) != len(arguments.model):
        wrong = f"{len(arguments.vectors)} --vectors for {len(arguments.model)} --model: give one file for each"
    else:
        for name in ("examples", "seed", "columns", "split"):
            if not arguments.text and getattr(arguments, name) not in (None, []):
                wrong = f"--{name} is for --text"
    if wrong is not None:
        raise UsageError(f"analyze {_KIND}: {wrong}", remedy=f"see hf-paraphrase analyze {_KIND} --help")
    for threshold in arguments.thresholds:
        if not -1.0 <= threshold <= 1.0:
            raise UsageError(f"analyze {_KIND}: a threshold is {threshold}", remedy="give cosines from -1 to 1")
    check_device(arguments.device)
    check_output(arguments.output, overwrite=arguments.overwrite)
    check_plots()


def _stored(arguments: Arguments) -> list[VectorFile]:
    """Opens the files of vectors, and the encoders once, so that what does not fit is told before any long work."""
    from ..encoders.search.vector_file import VectorFile

    files = [VectorFile(Path(path), half=True) for path in arguments.vectors]
    for place, model in enumerate(arguments.model):
        dimension = open_encoder(model, arguments.device).encoder.dimension
        if files and files[place].shape[1] != dimension:
            raise InputError(
                f"vectors of {files[place].shape[1]} components, but the encoder {model} gives {dimension}",
                path=files[place].path,
                remedy="give the vectors that this encoder made",
            )
        if files and not len(files[place]):
            raise InputError("there is no vector in it", path=files[place].path, remedy="encode some sentences")
    return files


def _count(
    name: str, model: str, stored: VectorFile | None, texts: Texts, queries: Sequence[str], arguments: Arguments
) -> _Found:
    """Runs all sentences past one model."""
    from tqdm.auto import tqdm

    from ..studies.analysis.best_sentences import BestSentences
    from ..studies.analysis.sentence_blocks import StreamCounts, encoded_blocks, stored_blocks
    from ..studies.analysis.similarity_bands import DRAWN, BandSamples
    from ..studies.analysis.similarity_distribution import SimilarityDistribution

    encoder = open_encoder(model, arguments.device)
    vectors, known = embed_queries(encoder, queries, arguments.batch_size)
    counts = StreamCounts()
    examples = _EXAMPLES if arguments.examples is None else arguments.examples
    shown = sum(number < _SHOWN for number in known)
    samples = BandSamples(shown, max(DRAWN, examples) if examples else 0, arguments.seed or 0)
    best = BestSentences([queries[number] for number in known], arguments.neighbours)
    distributions = [SimilarityDistribution(sorted(set(arguments.thresholds))) for _ in known]
    total = None if stored is None else len(stored)
    with tqdm(unit=" sentences", unit_scale=True, desc=name, total=total) as progress:
        blocks: Iterator[SentenceBlock]
        options: dict[str, Any] = {"counts": counts, "encoder": encoder, "progress": progress.update}
        if not known:
            blocks = iter(())
        elif stored is None:
            blocks = encoded_blocks(vectors, texts.blocks(), batch_size=arguments.batch_size, **options)
        else:
            blocks = stored_blocks(vectors, stored, texts.blocks() if arguments.text else None, **options)
        for block in blocks:
            for distribution, cosines in zip(distributions, block.cosines, strict=True):
                distribution.add(cosines)
            best.add(block)
            samples.add(block)
    return _Found(
        {number: item for number, item in zip(known, distributions, strict=True) if item.size},
        dict(zip(known, best.result(), strict=True)),
        {number: samples.result(place) for place, number in enumerate(known[:shown])},
        counts,
    )


def _record(queries: Sequence[str], found: Mapping[str, _Found]) -> dict[str, Any]:
    """Collects the numbers of the report as JSON values."""
    from ..studies.analysis.similarity_distribution import QUANTILES

    def described(item: SimilarityDistribution, examples: Sequence[Sequence[str]]) -> dict[str, Any]:
        return {
            "sentences": item.size,
            "mean": item.mean,
            "standard_deviation": item.deviation,
            "least": item.low,
            "greatest": item.high,
            "quantiles": {f"{share:g}": item.quantile(share) for share in QUANTILES},
            "at_or_above": {f"{threshold:g}": count for threshold, count in item.above.items()},
            "peaks": [asdict(peak) for peak in item.peaks()],
            "bands": [asdict(band) for band in _bands(item, examples)],
        }

    return {
        "read": {name: asdict(item.counts) for name, item in found.items()},
        "queries": [
            {
                "query": query,
                "models": {
                    name: described(item.distributions[number], item.examples.get(number, []))
                    for name, item in found.items()
                    if number in item.distributions
                },
            }
            for number, query in enumerate(queries)
        ],
    }


def _write(
    staging: Path,
    arguments: Arguments,
    queries: Sequence[str],
    found: Mapping[str, _Found],
    record: dict[str, Any],
    texts: Texts,
) -> None:
    from ..studies.analysis.similarity_bands import DRAWN
    from ..studies.analysis.similarity_plots import MOST_PANELS, plot_distributions, plot_shares_above

    drawn = [
        (query, {name: item.distributions[number] for name, item in found.items() if number in item.distributions})
        for number, query in enumerate(queries)
    ]
    drawn = [(query, models) for query, models in drawn if models]
    plot_distributions(drawn, staging / "plots" / "distribution.png")
    plot_shares_above(drawn, staging / "plots" / "share_above.png")
    _write_tables(staging, queries, found)
    write_text_whole(staging / "analysis.json", json.dumps(record, indent=2, ensure_ascii=False) + "\n")
    settings = {name: value for name, value in settings_of(arguments).items() if name != "overwrite"}
    inputs = [*arguments.model, *arguments.text, *arguments.vectors]
    inputs += [arguments.queries] if arguments.queries else []
    write_provenance(staging, command=f"analyze {_KIND}", settings=settings, inputs=inputs, results=record)
    shown = [
        {
            "query": plain_markdown(query, _LONGEST),
            "peaks": _peaks_table(number, found),
            "nearest": _nearest_table(number, found),
            "bands": _bands_tables(number, found, _EXAMPLES if arguments.examples is None else arguments.examples),
            "unknown": [name for name, item in found.items() if number not in item.distributions],
        }
        for number, query in enumerate(queries[:_SHOWN])
    ]
    values = {
        **texts.metadata(),
        "texts": texts.names or [Path(path).name for path in arguments.vectors],
        "has_text": bool(arguments.text),
        "stored": bool(arguments.vectors),
        "models": list(found),
        "total": len(queries),
        "drawn": min(MOST_PANELS, len(drawn)),
        "has_bands": any(item["bands"] for item in shown),
        "drawn_sentences": DRAWN,
        "shown": shown,
        "table": _table(queries[:_SHOWN], found, arguments.thresholds),
        "read": record["read"],
    }
    write_card(staging, "dataset_cards", "analysis_similarities", values)


def _write_tables(staging: Path, queries: Sequence[str], found: Mapping[str, _Found]) -> None:
    """Writes histograms and nearest sentences as tab-separated files."""
    with (staging / "histogram.tsv").open("w", encoding="utf-8") as stream:
        stream.write("query\tmodel\tlow\thigh\tsentences\n")
        for number, query in enumerate(queries):
            for name, item in found.items():
                if number not in item.distributions:
                    continue
                distribution = item.distributions[number]
                edges = distribution.edges
                for place in distribution.counts.nonzero()[0].tolist():
                    ends = f"{edges[place]:.3f}\t{edges[place + 1]:.3f}"
                    stream.write(f"{one_line(query)}\t{name}\t{ends}\t{distribution.counts[place]}\n")
    with (staging / "nearest.tsv").open("w", encoding="utf-8") as stream:
        stream.write("query\tmodel\trank\tcosine\tposition\tsentence\n")
        for number, query in enumerate(queries):
            for name, item in found.items():
                for rank, near in enumerate(item.nearest.get(number, []), start=1):
                    cells = f"{rank}\t{near.score:.6f}\t{near.position}\t{one_line(near.sentence)}"
                    stream.write(f"{one_line(query)}\t{name}\t{cells}\n")


def _table(queries: Sequence[str], found: Mapping[str, _Found], thresholds: Sequence[float]) -> str:
    """Lays out the numbers of all distributions."""
    limits = sorted(set(thresholds))
    header = ["query", "model", "sentences", "mean", "deviation", "median", "99 %", "99.9 %", "greatest", "peaks at"]
    header += [f">= {limit:g} (%)" for limit in limits]
    rows = []
    for number, query in enumerate(queries):
        for name, item in found.items():
            if number not in item.distributions:
                continue
            distribution = item.distributions[number]
            values = [distribution.mean, distribution.deviation]
            values += [distribution.quantile(share) for share in (0.5, 0.99, 0.999)] + [distribution.high]
            rows.append(
                [plain_markdown(query, 40, in_table=True), name, f"{distribution.size:,}"]
                + [_fixed(value, 3) for value in values]
                + [", ".join(_fixed(peak.cosine, 2) for peak in distribution.peaks())]
                + [_percent(distribution.above[limit], distribution.size) for limit in limits]
            )
    return format_table(header, rows)


def _fixed(value: float, digits: int) -> str:
    # Not −0.00.
    return f"{round(value, digits) + 0.0:.{digits}f}"


def _percent(count: int, size: int) -> str:
    share = 100.0 * count / size
    return f"{share:.2f}" if share >= 0.1 or not count else f"{share:.2g}"


def _peaks_table(number: int, found: Mapping[str, _Found]) -> list[str]:
    """Says in words where each distribution has its peaks."""
    lines = []
    for name, item in found.items():
        if number in item.distributions:
            peaks = item.distributions[number].peaks()
            places = ", ".join(f"{_fixed(peak.cosine, 2)} ({100.0 * peak.height:.0f} %)" for peak in peaks)
            lines.append(f"{name}: {len(peaks)} peak{'s' if len(peaks) != 1 else ''}, at {places}")
    return lines


def _nearest_table(number: int, found: Mapping[str, _Found]) -> str:
    return side_by_side([(name, item.nearest.get(number, [])) for name, item in found.items()], _LONGEST)


def _bands(distribution: SimilarityDistribution, examples: Sequence[Sequence[str]]) -> list[Band]:
    from ..studies.analysis.similarity_bands import describe_bands

    if not any(examples):
        return []
    edges, counts = distribution.grouped(len(distribution.counts) // len(examples))
    return describe_bands(edges, counts, examples)


def _bands_tables(number: int, found: Mapping[str, _Found], count: int) -> list[tuple[str, str]]:
    """Lays out for each model every band: its share, the words that stand out in it, and some of its sentences."""
    tables = []
    for name, item in found.items():
        if number not in item.distributions:
            continue
        size = item.distributions[number].size
        examples = item.examples.get(number, [])
        rows = []
        for band in reversed(_bands(item.distributions[number], examples)):
            words = (
                f"{plain_markdown(word.word, in_table=True)} {100 * word.share:.0f} ({100 * word.overall:.2g})"
                for word in band.words
            )
            texts = (plain_markdown(text, _LONGEST // 2, in_table=True) for text in examples[band.number][:count])
            cells = [f"{band.low:.1f} to {band.high:.1f}", _percent(band.sentences, size)]
            rows.append([*cells, ", ".join(words), " · ".join(texts)])
        if rows:
            header = (
                "| cosine | sentences (%) | words that stand out (%) | some of them |\n| --- | ---: | --- | --- |\n"
            )
            lines = ("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |\n" for row in rows)
            tables.append((name, header + "".join(lines)))
    return tables

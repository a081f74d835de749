"""The recipe of the verb `analyze similarities`: how the cosines of a query with all sentences are distributed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ...artefacts.artefact import Artefact, Card
from ...artefacts.files import write_text_whole
from ...artefacts.remote_paths import to_path
from ...data.text_blocks import PLAIN_OR_COMPRESSED
from ...encoders.search.vector_file import VectorFile
from ...errors import InputError, UsageError
from ...evaluation.figures import check_plots
from ...messages import log
from ...settings import recipe, seed_setting, setting
from ...tables import format_table, one_line, plain_markdown
from .inputs import QuerySettings, Texts, embed_queries, model_names, open_encoder, read_queries
from .neighbour_lists import side_by_side
from .plots import MOST_PANELS, plot_distributions, plot_shares_above
from .sentence_blocks import BestSentences, NearSentence, SentenceBlock, StreamCounts, encoded_blocks, stored_blocks
from .similarity_bands import DRAWN, Band, BandSamples, describe_bands
from .similarity_distribution import QUANTILES, SimilarityDistribution

_EXAMPLES = 3
_SHOWN = 12
_LONGEST = 160


@dataclass(kw_only=True)
class SimilaritySettings(QuerySettings):
    """Counts the cosines of one or more sentences with all sentences of a text (paper 003, section 4.2.1, figure 1).

    Every sentence is compared and none is kept, so memory does not grow with the text. Vectors that
    `hf-paraphrase encode` wrote can take the place of encoding the text.
    """

    model: list[str] = setting("one or more folders of sentence encoders", path=True)
    text: list[str] = setting(
        f"the sentences: one or more text files, one sentence a line, {PLAIN_OR_COMPRESSED}, or data folders; "
        "may be left out where there are --vectors, but then no sentence can be shown",
        [],
        path=True,
    )
    vectors: list[str] = setting(
        "the vectors of these sentences, a .npy file of float32 or float16 (sentences, dim) for each model, in the "
        "same order, line by line those of --text; by default the sentences are encoded",
        [],
        path=True,
    )
    thresholds: list[float] = setting(
        "cosines, from -1 to 1, for which the share of sentences that reach them is given",
        [0.5, 0.6, 0.7, 0.8, 0.9],
        at_least=-1,
        at_most=1,
    )
    examples: int | None = setting(
        "with --text: how many sentences to show of each band of 0.1 of the cosine, drawn at random, for the first 12 "
        "queries; 0 for none [default: 3]",
        None,
        at_least=0,
        only_with="text",
    )
    seed: int | None = seed_setting("with --text: seed of the draw of examples [default: 0]", None, only_with="text")

    def check(self) -> None:
        """Checks that the settings are valid."""
        super().check()
        wrong = None
        if not self.text and not self.vectors:
            wrong = "give --text, --vectors or both"
        elif self.vectors and len(self.vectors) != len(self.model):
            wrong = f"{len(self.vectors)} --vectors for {len(self.model)} --model: give one file for each"
        if wrong is not None:
            raise UsageError(f"analyze similarities: {wrong}", remedy="see hf-paraphrase analyze similarities --help")


@dataclass(frozen=True, eq=False)
class QuerySimilarities:
    """What one model gives: by the number of the query, from 0, for queries of which it knows a word.

    Attributes:
        distributions: How the cosines with all sentences are distributed.
        examples: Some sentences of each band of the cosine.
    """

    distributions: dict[int, SimilarityDistribution]
    nearest: dict[int, list[NearSentence]]
    examples: dict[int, list[list[str]]]
    counts: StreamCounts


@recipe(SimilaritySettings)
def analyze_similarities(settings: SimilaritySettings) -> dict[str, QuerySimilarities]:
    """Counts the cosines of one or more sentences with all sentences of a text (paper 003, section 4.2.1, figure 1).

    Returns:
        For each model by its name what was counted.
    """
    check_plots()
    names = model_names(settings.model)
    queries = read_queries(settings)
    texts = Texts(settings.text, settings.columns, settings.split)
    stored = _stored(settings)
    by_model: dict[str, QuerySimilarities] = {}
    inputs = [*settings.model, *settings.text, *settings.vectors, *([settings.queries] if settings.queries else [])]
    with Artefact(
        settings.output, command="analyze similarities", settings=settings, inputs=inputs, overwrite=settings.overwrite
    ) as artefact:
        for place, (name, model) in enumerate(zip(names, settings.model, strict=True)):
            by_model[name] = _count(name, model, stored[place] if stored else None, texts, queries, settings)
        if not any(distribution.size for item in by_model.values() for distribution in item.distributions.values()):
            raise InputError(
                "nothing to count: no word of the queries or of the text is in the encoders' vocabularies",
                path=(settings.text or settings.vectors)[0],
                remedy="give sentences in the language that the encoders were trained on",
            )
        record = _record(queries, by_model)
        _write(artefact, settings, queries, by_model, record, texts)
    table = _table(queries, by_model, settings.thresholds)
    log(table.rstrip())
    log(f"the report is {settings.output}/README.md")
    return by_model


def _stored(settings: SimilaritySettings) -> list[VectorFile]:
    """Opens the vector files, and the encoders once, so that a mismatch is reported before any long work."""
    files = [VectorFile(Path(path), half=True) for path in settings.vectors]
    for place, model in enumerate(settings.model):
        dimension = open_encoder(model, settings.device).encoder.dimension
        if files and files[place].shape[1] != dimension:
            raise InputError(
                f"vectors of {files[place].shape[1]} components, but the encoder {model} gives {dimension}",
                path=files[place].path,
                remedy="give the vectors that this encoder made",
            )
        if files and not len(files[place]):
            raise InputError("the file contains no vectors", path=files[place].path, remedy="encode some sentences")
    return files


def _count(
    name: str,
    model: str,
    stored: VectorFile | None,
    texts: Texts,
    queries: Sequence[str],
    settings: SimilaritySettings,
) -> QuerySimilarities:
    """Runs all sentences past one model."""
    from tqdm.auto import tqdm

    encoder = open_encoder(model, settings.device)
    vectors, nonzero = embed_queries(encoder, queries, settings.batch_size)
    counts = StreamCounts()
    examples = _EXAMPLES if settings.examples is None else settings.examples
    shown = sum(number < _SHOWN for number in nonzero)
    samples = BandSamples(shown, max(DRAWN, examples) if examples else 0, settings.seed or 0)
    best = BestSentences([queries[number] for number in nonzero], settings.neighbours)
    distributions = [SimilarityDistribution(sorted(set(settings.thresholds))) for _ in nonzero]
    total = None if stored is None else len(stored)
    with tqdm(unit=" sentences", unit_scale=True, desc=name, total=total) as progress:
        blocks: Iterator[SentenceBlock]
        options: dict[str, Any] = {"counts": counts, "encoder": encoder, "progress": progress.update}
        if not nonzero:
            blocks = iter(())
        elif stored is None:
            blocks = encoded_blocks(vectors, texts.blocks(), batch_size=settings.batch_size, **options)
        else:
            blocks = stored_blocks(vectors, stored, texts.blocks() if settings.text else None, **options)
        for block in blocks:
            for distribution, cosines in zip(distributions, block.cosines, strict=True):
                distribution.add(cosines)
            best.add(block)
            samples.add(block)
    return QuerySimilarities(
        {number: item for number, item in zip(nonzero, distributions, strict=True) if item.size},
        dict(zip(nonzero, best.result(), strict=True)),
        {number: samples.result(place) for place, number in enumerate(nonzero[:shown])},
        counts,
    )


def _record(queries: Sequence[str], by_model: Mapping[str, QuerySimilarities]) -> dict[str, Any]:
    """Collects the numbers of the report as JSON values."""

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
        "read": {name: asdict(item.counts) for name, item in by_model.items()},
        "queries": [
            {
                "query": query,
                "models": {
                    name: described(item.distributions[number], item.examples.get(number, []))
                    for name, item in by_model.items()
                    if number in item.distributions
                },
            }
            for number, query in enumerate(queries)
        ],
    }


def _write(
    artefact: Artefact,
    settings: SimilaritySettings,
    queries: Sequence[str],
    by_model: Mapping[str, QuerySimilarities],
    record: dict[str, Any],
    texts: Texts,
) -> None:
    drawn = [
        (query, {name: item.distributions[number] for name, item in by_model.items() if number in item.distributions})
        for number, query in enumerate(queries)
    ]
    drawn = [(query, models) for query, models in drawn if models]
    plot_distributions(drawn, artefact.staging / "plots" / "distribution.png")
    plot_shares_above(drawn, artefact.staging / "plots" / "share_above.png")
    _write_tables(artefact.staging, queries, by_model)
    write_text_whole(artefact.staging / "analysis.json", json.dumps(record, indent=2, ensure_ascii=False) + "\n")
    shown = [
        {
            "query": plain_markdown(query, _LONGEST),
            "peaks": _peaks_table(number, by_model),
            "nearest": _nearest_table(number, by_model),
            "bands": _bands_tables(number, by_model, _EXAMPLES if settings.examples is None else settings.examples),
            "unknown": [name for name, item in by_model.items() if number not in item.distributions],
        }
        for number, query in enumerate(queries[:_SHOWN])
    ]
    values = {
        **texts.metadata(),
        "texts": texts.names or [to_path(path).name for path in settings.vectors],
        "has_text": bool(settings.text),
        "stored": bool(settings.vectors),
        "models": list(by_model),
        "total": len(queries),
        "drawn": min(MOST_PANELS, len(drawn)),
        "has_bands": any(item["bands"] for item in shown),
        "drawn_sentences": DRAWN,
        "shown": shown,
        "table": _table(queries[:_SHOWN], by_model, settings.thresholds),
        "read": record["read"],
    }
    artefact.finish(results=record, card=Card("analysis_similarities", values, report=True))


def _write_tables(staging: Path, queries: Sequence[str], by_model: Mapping[str, QuerySimilarities]) -> None:
    """Writes histograms and nearest sentences as tab-separated files."""
    with (staging / "histogram.tsv").open("w", encoding="utf-8") as stream:
        stream.write("query\tmodel\tlow\thigh\tsentences\n")
        for number, query in enumerate(queries):
            for name, item in by_model.items():
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
            for name, item in by_model.items():
                for rank, near in enumerate(item.nearest.get(number, []), start=1):
                    cells = f"{rank}\t{near.score:.6f}\t{near.position}\t{one_line(near.sentence)}"
                    stream.write(f"{one_line(query)}\t{name}\t{cells}\n")


def _table(queries: Sequence[str], by_model: Mapping[str, QuerySimilarities], thresholds: Sequence[float]) -> str:
    """Formats the numbers of all distributions."""
    limits = sorted(set(thresholds))
    header = ["query", "model", "sentences", "mean", "deviation", "median", "99 %", "99.9 %", "greatest", "peaks at"]
    header += [f">= {limit:g} (%)" for limit in limits]
    rows = []
    for number, query in enumerate(queries):
        for name, item in by_model.items():
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


def _peaks_table(number: int, by_model: Mapping[str, QuerySimilarities]) -> list[str]:
    """Describes in words where each distribution has its peaks."""
    lines = []
    for name, item in by_model.items():
        if number in item.distributions:
            peaks = item.distributions[number].peaks()
            places = ", ".join(f"{_fixed(peak.cosine, 2)} ({100.0 * peak.height:.0f} %)" for peak in peaks)
            lines.append(f"{name}: {len(peaks)} peak{'s' if len(peaks) != 1 else ''}, at {places}")
    return lines


def _nearest_table(number: int, by_model: Mapping[str, QuerySimilarities]) -> str:
    return side_by_side([(name, item.nearest.get(number, [])) for name, item in by_model.items()], _LONGEST)


def _bands(distribution: SimilarityDistribution, examples: Sequence[Sequence[str]]) -> list[Band]:
    if not any(examples):
        return []
    edges, counts = distribution.grouped(len(distribution.counts) // len(examples))
    return describe_bands(edges, counts, examples)


def _bands_tables(number: int, by_model: Mapping[str, QuerySimilarities], count: int) -> list[tuple[str, str]]:
    """Formats for each model every band: its share, the words that stand out in it, and some of its sentences."""
    tables = []
    for name, item in by_model.items():
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

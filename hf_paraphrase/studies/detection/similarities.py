"""The recipe of the verb `analyze similarities`: how the cosines of a query with all sentences are distributed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...artefacts.remote_paths import to_path
from ...data.text_blocks import PLAIN_OR_COMPRESSED
from ...encoders.search.vector_file import VectorFile
from ...errors import InputError, UsageError
from ...evaluation.figures import COLOURS, new_figure, plot_label, save_plot
from ...settings import recipe, seed_setting, setting
from ...tables import format_table, plain_markdown
from ..report import report
from .neighbours import LONGEST, neighbour_rows, side_by_side
from .queries import QuerySettings, Texts, embed_queries, model_names, open_encoder
from .sentence_blocks import NearestSentences, NearSentence, SentenceBlock, StreamCounts, encoded_blocks, stored_blocks
from .similarity_distribution import DRAWN, BandSample, SimilarityDistribution, describe_bands

_EXAMPLES = 3
_SHOWN = 12
_BARS = 100


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
        if not self.text and not self.vectors:
            raise UsageError("neither --text nor --vectors is given", remedy="give --text, --vectors or both")
        if self.vectors and len(self.vectors) != len(self.model):
            found = f"{len(self.vectors)} --vectors for {len(self.model)} --model"
            raise UsageError(found, remedy="give one file for each")


@dataclass(frozen=True, eq=False)
class QuerySimilarities:
    """What one model gives for one query of which it knows a word.

    Attributes:
        distribution: How the cosines with all sentences are distributed.
        bands: Some sentences of each range of the cosine.
    """

    distribution: SimilarityDistribution
    nearest: list[NearSentence]
    bands: list[list[str]]


@recipe(SimilaritySettings)
def analyze_similarities(settings: SimilaritySettings) -> dict[str, dict[int, QuerySimilarities]]:
    """Counts the cosines of one or more sentences with all sentences of a text (paper 003, section 4.2.1, figure 1).

    Returns:
        For each model by its name what was counted, by the index of the query.
    """
    names = model_names(settings.model)
    queries = settings.read_queries()
    texts = Texts(settings, settings.text)
    stored = _stored(settings)
    found: dict[str, dict[int, QuerySimilarities]] = {}
    read: dict[str, dict[str, int]] = {}
    inputs = [*settings.model, *settings.text, *settings.vectors, settings.queries]
    with report("similarities", settings, inputs, card="analysis_similarities") as output:
        for name, model, vectors in zip(names, settings.model, stored, strict=True):
            found[name], counts = _count(name, model, vectors, texts, queries, settings)
            read[name] = asdict(counts)
        if not any(found.values()):
            raise InputError(
                "nothing to count: no word of the queries or of the text is in the encoders' vocabularies",
                path=(settings.text or settings.vectors)[0],
                remedy="give sentences in the language that the encoders were trained on",
            )
        by_query = [
            {name: items[index] for name, items in found.items() if index in items} for index in range(len(queries))
        ]
        drawn = [(query, items) for query, items in zip(queries, by_query, strict=True) if items][:_SHOWN]
        _plot(drawn, names, output.picture("distribution"))
        output.table("histogram", ["query", "model", "low", "high", "sentences"], _histogram_rows(queries, by_query))
        lists = {
            name: [items[index].nearest if index in items else [] for index in range(len(queries))]
            for name, items in found.items()
        }
        output.table("nearest", *neighbour_rows(queries, lists))
        record = {
            "read": read,
            "queries": [
                {"query": query, "models": {name: _record(item) for name, item in items.items()}}
                for query, items in zip(queries, by_query, strict=True)
            ],
        }
        examples = _EXAMPLES if settings.examples is None else settings.examples
        shown = [
            {
                "query": plain_markdown(query, LONGEST),
                "peaks": [_peaks(name, item) for name, item in items.items()],
                "nearest": side_by_side({name: lists[name][index] for name in names}),
                "bands": [
                    (name, _bands_table(item, examples))
                    for name, item in items.items()
                    if examples and any(item.bands)
                ],
                "unknown": [name for name in names if name not in items],
            }
            for index, (query, items) in enumerate(zip(queries[:_SHOWN], by_query[:_SHOWN], strict=True))
        ]
        table = _table(queries, by_query, settings.thresholds)
        values = {
            **texts.metadata(),
            "texts": texts.names or [to_path(path).name for path in settings.vectors],
            "has_text": bool(settings.text),
            "stored": bool(settings.vectors),
            "models": names,
            "total": len(queries),
            "drawn": len(drawn),
            "has_bands": any(item["bands"] for item in shown),
            "drawn_sentences": DRAWN,
            "shown": shown,
            "table": _table(queries[:_SHOWN], by_query, settings.thresholds),
            "read": read,
        }
        output.finish(record, values, table)
    return found


def _stored(settings: SimilaritySettings) -> Sequence[VectorFile | None]:
    """Opens the vector files, and the encoders once, so that a mismatch is reported before any long work."""
    dimensions = [open_encoder(model, settings.device).encoder.dimension for model in settings.model]
    if not settings.vectors:
        return [None] * len(settings.model)
    files = [VectorFile(Path(path), half=True) for path in settings.vectors]
    for file, dimension, model in zip(files, dimensions, settings.model, strict=True):
        if file.shape[1] != dimension:
            raise InputError(
                f"vectors of {file.shape[1]} components, but the encoder {model} gives {dimension}",
                path=file.path,
                remedy="give the vectors that this encoder made",
            )
        if not len(file):
            raise InputError("the file contains no vectors", path=file.path, remedy="encode some sentences")
    return files


def _count(
    name: str,
    model: str,
    stored: VectorFile | None,
    texts: Texts,
    queries: Sequence[str],
    settings: SimilaritySettings,
) -> tuple[dict[int, QuerySimilarities], StreamCounts]:
    """Compares all sentences with the queries under one model."""
    from tqdm.auto import tqdm

    encoder = open_encoder(model, settings.device)
    vectors, known = embed_queries(encoder, queries)
    counts = StreamCounts()
    nearest = NearestSentences([queries[index] for index in known], vectors, settings.neighbours)
    distributions = [SimilarityDistribution(sorted(set(settings.thresholds))) for _ in known]
    samples = [BandSample(max(DRAWN, settings.examples or 0)) for index in known if index < _SHOWN]
    generator = np.random.default_rng(settings.seed or 0)
    blocks: Iterable[SentenceBlock]
    if stored is None:
        blocks = encoded_blocks(texts.blocks(), encoder, counts, batch_size=settings.batch_size)
    else:
        blocks = stored_blocks(stored, texts.blocks() if settings.text else None, encoder, counts)
    total = None if stored is None else len(stored)
    with tqdm(unit=" sentences", unit_scale=True, desc=name, total=total) as progress:
        for block in blocks if known else ():
            cosines = block.cosines(vectors)
            for distribution, row in zip(distributions, cosines, strict=True):
                distribution.add(row)
            nearest.add(block)
            if block.texts is not None and settings.examples != 0:
                numbers = generator.random(len(block.texts))
                for sample, row in zip(samples, cosines, strict=False):
                    sample.add(row, block.texts, numbers)
            progress.update(counts.read - progress.n)
    bands = [sample.sentences for sample in samples] + [[]] * (len(known) - len(samples))
    found = [QuerySimilarities(*parts) for parts in zip(distributions, nearest.lists, bands, strict=True)]
    return {index: item for index, item in zip(known, found, strict=True) if item.distribution.size}, counts


def _record(item: QuerySimilarities) -> dict[str, Any]:
    bands = describe_bands(item.distribution, item.bands) if any(item.bands) else []
    return {**item.distribution.record(), "bands": bands}


def _histogram_rows(
    queries: Sequence[str], by_query: Sequence[Mapping[str, QuerySimilarities]]
) -> Iterable[list[object]]:
    for query, items in zip(queries, by_query, strict=True):
        for name, item in items.items():
            edges, counts = item.distribution.edges, item.distribution.counts
            for place in counts.nonzero()[0].tolist():
                yield [query, name, f"{edges[place]:.3f}", f"{edges[place + 1]:.3f}", counts[place]]


def _plot(drawn: Sequence[tuple[str, Mapping[str, QuerySimilarities]]], names: Sequence[str], path: Path) -> None:
    """Draws for each query the histograms of all models, with a mark at each peak (paper 003, figure 1)."""
    columns = min(2, len(drawn))
    rows = -(-len(drawn) // columns)
    figure, axes = new_figure(7.5 if columns == 1 else 12.0, 0.6 + 3.6 * rows, rows, columns)
    for axis in axes.flat[len(drawn) :]:
        axis.set_visible(False)
    for (query, items), axis in zip(drawn, axes.flat, strict=False):
        for name, item in items.items():
            colour = COLOURS[names.index(name) % len(COLOURS)]
            edges, counts = item.distribution.grouped(_BARS)
            shares = 100.0 * counts / item.distribution.size
            axis.stairs(shares, edges, label=plot_label(name), linewidth=1.7, color=colour)
            for peak in item.distribution.peaks():
                bar = min(len(shares) - 1, int(np.searchsorted(edges, peak["cosine"], side="right")) - 1)
                axis.plot(peak["cosine"], shares[bar], "v", color=colour, markersize=6, clip_on=False)
        axis.set_title(f"“{plot_label(query)}”", fontsize=11)
        axis.set_xlabel("cosine with the sentence above")
        axis.set_ylabel(f"sentences (%, bars of {2 / _BARS:.2f})")
        axis.set_ylim(bottom=0)
        axis.legend(frameon=False)
    save_plot(figure, path)


def _table(
    queries: Sequence[str], by_query: Sequence[Mapping[str, QuerySimilarities]], thresholds: Sequence[float]
) -> str:
    """Formats the numbers of all distributions."""
    limits = sorted(set(thresholds))
    header = ["query", "model", "sentences", "mean", "deviation", "median", "99 %", "99.9 %", "greatest", "peaks at"]
    header += [f">= {limit:g} (%)" for limit in limits]
    rows = []
    for query, items in zip(queries, by_query, strict=False):
        for name, item in items.items():
            found = item.distribution
            values = [found.mean, found.deviation, *map(found.quantile, (0.5, 0.99, 0.999)), found.high]
            peaks = ", ".join(_fixed(peak["cosine"], 2) for peak in found.peaks())
            rows.append(
                [plain_markdown(query, 40, in_table=True), name, f"{found.size:,}"]
                + [*(_fixed(value, 3) for value in values), peaks]
                + [_percent(found.above[limit], found.size) for limit in limits]
            )
    return format_table(header, rows)


def _fixed(value: float, digits: int) -> str:
    return f"{round(value, digits) + 0.0:.{digits}f}"  # not −0.00


def _percent(count: int, size: int) -> str:
    share = 100.0 * count / size
    return f"{share:.2f}" if share >= 0.1 or not count else f"{share:.2g}"


def _peaks(name: str, item: QuerySimilarities) -> str:
    """Describes in words where a distribution has its peaks."""
    peaks = item.distribution.peaks()
    places = ", ".join(f"{_fixed(peak['cosine'], 2)} ({100.0 * peak['height']:.0f} %)" for peak in peaks)
    return f"{name}: {len(peaks)} peak{'s' if len(peaks) != 1 else ''}, at {places}"


def _bands_table(item: QuerySimilarities, examples: int) -> str:
    """Formats every range that has sentences: its share, the words that stand out in it, and some of its sentences."""
    rows = []
    for band in reversed(describe_bands(item.distribution, item.bands)):
        words = (
            f"{plain_markdown(word['word'], in_table=True)} {100 * word['share']:.0f} ({100 * word['overall']:.2g})"
            for word in band["words"]
        )
        sentences = item.bands[band["number"]][:examples]
        texts = (plain_markdown(text, LONGEST // 2, in_table=True) for text in sentences)
        share = _percent(band["sentences"], item.distribution.size)
        rows.append([f"{band['low']:.1f} to {band['high']:.1f}", share, ", ".join(words), " · ".join(texts)])
    return format_table(["cosine", "sentences (%)", "words that stand out (%)", "some of them"], rows)

"""The recipe of the verb `analyze similarities`: how the cosines of a query with all sentences are distributed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from ...errors import InputError
from ...evaluation.figures import COLOURS, new_figure, plot_label, save_plot
from ...settings import recipe, seed_setting, setting
from ...tables import format_table, plain_markdown
from ..report import report
from .neighbours import LONGEST
from .queries import QuerySettings, Texts, embed_queries, model_names, open_encoder
from .sentence_blocks import StreamCounts, encoded_blocks
from .similarity_distribution import BANDS, BandSample, SimilarityDistribution

_SHOWN = 12
_BARS = 100


@dataclass(kw_only=True)
class SimilaritySettings(QuerySettings):
    """Counts the cosines of one or more sentences with all sentences of a text (paper 003, section 4.2.1, figure 1).

    Every sentence is compared and none is kept, so memory does not grow with the text.
    """

    thresholds: list[float] = setting(
        "cosines, from -1 to 1, for which the share of sentences that reach them is given",
        [0.5, 0.6, 0.7, 0.8, 0.9],
        at_least=-1,
        at_most=1,
    )
    examples: int = setting(
        "how many sentences to show of each range of 0.1 of the cosine, drawn at random, for the first 12 queries; 0 "
        "for none",
        3,
        at_least=0,
    )
    seed: int = seed_setting("seed of the draw of examples")


@dataclass(frozen=True, eq=False)
class QuerySimilarities:
    """What one model gives for one query of which it knows a word; the sentences are of the ranges of the cosine."""

    distribution: SimilarityDistribution
    bands: BandSample


@recipe(SimilaritySettings)
def analyze_similarities(settings: SimilaritySettings) -> dict[str, dict[int, QuerySimilarities]]:
    """Counts the cosines of one or more sentences with all sentences of a text (paper 003, section 4.2.1, figure 1).

    Returns:
        For each model by its name what was counted, by the index of the query.
    """
    names = model_names(settings.model)
    queries = settings.read_queries()
    texts = Texts(settings)
    # A wrong one is reported now, not after an hour with the first one.
    for model in settings.model[1:]:
        open_encoder(model, settings.device)
    found: dict[str, dict[int, QuerySimilarities]] = {}
    read: dict[str, dict[str, int]] = {}
    inputs = [*settings.model, *settings.text, settings.queries]
    with report("similarities", settings, inputs, card="analysis_similarities") as output:
        for name, model in zip(names, settings.model, strict=True):
            found[name], counts = _count(name, model, texts, queries, settings)
            read[name] = asdict(counts)
        if not any(found.values()):
            raise InputError(
                "nothing to count: no word of the queries or of the text is in the encoders' vocabularies",
                path=settings.text[0],
                remedy="give sentences in the language that the encoders were trained on",
            )
        by_query = [
            {name: items[index] for name, items in found.items() if index in items} for index in range(len(queries))
        ]
        drawn = [(query, items) for query, items in zip(queries, by_query, strict=True) if items][:_SHOWN]
        _plot(drawn, names, output.picture("distribution"))
        output.table("histogram", ["query", "model", "low", "high", "sentences"], _histogram_rows(queries, by_query))
        record = {
            "read": read,
            "queries": [
                {"query": query, "models": {name: item.distribution.record() for name, item in items.items()}}
                for query, items in zip(queries, by_query, strict=True)
            ],
        }
        shown = [
            {
                "query": plain_markdown(query, LONGEST),
                "bands": [(name, _bands_table(item)) for name, item in items.items() if settings.examples],
                "unknown": [name for name in names if name not in items],
            }
            for query, items in zip(queries[:_SHOWN], by_query[:_SHOWN], strict=True)
        ]
        values = {
            **texts.metadata(),
            "texts": texts.names,
            "models": names,
            "total": len(queries),
            "shown": shown,
            "table": _table(queries[:_SHOWN], by_query, settings.thresholds),
            "read": read,
        }
        output.finish(record, values, _table(queries, by_query, settings.thresholds))
    return found


def _count(
    name: str, model: str, texts: Texts, queries: Sequence[str], settings: SimilaritySettings
) -> tuple[dict[int, QuerySimilarities], StreamCounts]:
    """Compares all sentences with the queries under one model."""
    from tqdm.auto import tqdm

    encoder = open_encoder(model, settings.device)
    vectors, known = embed_queries(encoder, queries)
    counts = StreamCounts()
    found = [
        QuerySimilarities(SimilarityDistribution(sorted(set(settings.thresholds))), BandSample(settings.examples))
        for _ in known
    ]
    generator = np.random.default_rng(settings.seed)
    blocks = encoded_blocks(texts.blocks(), encoder, counts, batch_size=settings.batch_size)
    with tqdm(unit=" sentences", unit_scale=True, desc=name) as progress:
        for block in blocks if known else ():
            numbers = generator.random(len(block.texts))
            for index, item, cosines in zip(known, found, block.cosines(vectors), strict=True):
                item.distribution.add(cosines)
                if settings.examples and index < _SHOWN:
                    item.bands.add(cosines, block.texts, numbers)
            progress.update(counts.read - progress.n)
    return {index: item for index, item in zip(known, found, strict=True) if item.distribution.size}, counts


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
            peaks = ", ".join(f"{_fixed(peak['cosine'], 2)} ({100 * peak['height']:.0f} %)" for peak in found.peaks())
            rows.append(
                [plain_markdown(query, 40), name, f"{found.size:,}"]
                + [*(_fixed(value, 3) for value in values), peaks]
                + [_percent(found.above[limit], found.size) for limit in limits]
            )
    return format_table(header, rows)


def _fixed(value: float, digits: int) -> str:
    return f"{round(value, digits) + 0.0:.{digits}f}"  # not −0.00


def _percent(count: int, size: int) -> str:
    share = 100.0 * count / size
    return f"{share:.2f}" if share >= 0.1 or not count else f"{share:.2g}"


def _bands_table(item: QuerySimilarities) -> str:
    """Formats every range that has sentences, the highest first: its share and some of its sentences."""
    edges, counts = item.distribution.grouped(BANDS)
    rows = []
    for band in reversed(np.flatnonzero(counts).tolist()):
        texts = (plain_markdown(text, LONGEST // 2) for text in item.bands.sentences[band])
        share = _percent(int(counts[band]), item.distribution.size)
        rows.append([f"{edges[band]:.1f} to {edges[band + 1]:.1f}", share, " · ".join(texts)])
    return format_table(["cosine", "sentences (%)", "some of them"], rows)

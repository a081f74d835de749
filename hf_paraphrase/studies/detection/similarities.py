"""The command `analyze similarities`: shows the distribution of the cosines of queries with all sentences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...encoders.search_embedder import SearchEmbedder
from ...searching.index import SearchIndex
from ...settings import recipe
from ...tables import format_table, plain_markdown, short_names
from ...vectors.similarity import exact_unit_rows
from ..report import COLOURS, new_grid, plot_label, report, save_plot
from .neighbours import QuerySettings

BINS = 2_000
"""Equal bins of the cosine from −1 to 1, each 0.001 wide."""
_BARS, _SHOWN = 100, 12
_QUANTILES = ("0.5", "0.95", "0.99", "0.999")
_ROWS_AT_A_TIME, _QUERIES_AT_A_TIME = 1 << 16, 16
Distributions = list[dict[str, dict[str, Any]]]
"""For each query the result of :func:`describe`, by model."""


@dataclass(kw_only=True)
class SimilaritySettings(QuerySettings):
    """Show the distribution of cosines of queries with the sentences of texts (Sjöblom et al. 2018, figure 1).

    Every sentence is compared, repeated ones too; memory holds a few numbers per sentence, not the vectors.
    """


@recipe(SimilaritySettings)
def analyze_similarities(settings: SimilaritySettings) -> Distributions:
    """Show the distribution of the cosines of queries with all sentences of a text (Sjöblom et al. 2018, figure 1).

    Returns:
        The statistics of :func:`describe`, for each query and model.
    """
    queries = settings.read_queries()
    distributions: Distributions = [{} for _ in queries]
    names = []
    with report("similarities", settings, settings.inputs(), card="analysis_similarities", draws=True) as output:
        for name, index in settings.indexes(output.artefact.work, keep_repeated=True):
            names.append(name)
            for row, cosines in _cosines(index, queries):
                distributions[row][name] = describe(cosines)
        if not any(distributions):
            raise settings.unknown_words_error("cannot compare")
        drawn = [(query, models) for query, models in zip(queries, distributions, strict=True) if models][:_SHOWN]
        _plot(drawn, names, output.picture("distribution"))
        output.table(
            "histogram", ["query", "model", "low", "high", "sentences"], _histogram_rows(queries, distributions)
        )
        records = [
            {"query": query, "models": {name: _without_counts(statistics) for name, statistics in models.items()}}
            for query, models in zip(queries, distributions, strict=True)
        ]
        table = _table(queries[:_SHOWN], distributions)
        values = {
            "models": names,
            "texts": short_names(settings.text),
            "total": len(queries),
            "shown": min(_SHOWN, len(queries)),
            "table": table,
        }
        output.finish({"queries": records}, values, table)
    return distributions


def _cosines(index: SearchIndex, queries: Sequence[str]) -> Iterator[tuple[int, NDArray[np.float64]]]:
    """Yield the row of each query with a usable word, and its cosines with all sentences that have one."""
    vectors = exact_unit_rows(SearchEmbedder(index.encoder.for_task("query")).embed(queries))
    usable = np.flatnonzero(vectors.any(axis=1))
    for first in range(0, len(usable), _QUERIES_AT_A_TIME):
        rows = usable[first : first + _QUERIES_AT_A_TIME]
        cosines = []
        for start in range(0, len(index), _ROWS_AT_A_TIME):
            block = exact_unit_rows(index.vectors[start : start + _ROWS_AT_A_TIME])
            cosines.append(np.clip(vectors[rows] @ block[block.any(axis=1)].T, -1.0, 1.0))
        yield from zip(rows.tolist(), np.concatenate(cosines, axis=1), strict=True)


def describe(cosines: NDArray[np.float64]) -> dict[str, Any]:
    """Describe cosines (sentences,), at least one, from −1 to 1.

    `counts` (:data:`BINS`,) has the number in each bin, lower ends included.
    """
    shares = np.quantile(cosines, [float(share) for share in _QUANTILES])
    return {
        "sentences": len(cosines),
        "mean": float(cosines.mean()),
        "standard_deviation": float(cosines.std()),
        "least": float(cosines.min()),
        "greatest": float(cosines.max()),
        "quantiles": dict(zip(_QUANTILES, shares.tolist(), strict=True)),
        "counts": np.histogram(cosines, BINS, (-1.0, 1.0))[0],
    }


def _without_counts(statistics: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in statistics.items() if key != "counts"}


def _histogram_rows(queries: Sequence[str], distributions: Distributions) -> Iterable[list[object]]:
    edges = np.linspace(-1.0, 1.0, BINS + 1)
    for query, models in zip(queries, distributions, strict=True):
        for name, statistics in models.items():
            for index in statistics["counts"].nonzero()[0].tolist():
                yield [query, name, f"{edges[index]:.3f}", f"{edges[index + 1]:.3f}", statistics["counts"][index]]


def _plot(drawn: Sequence[tuple[str, Mapping[str, Any]]], names: Sequence[str], path: Path) -> None:
    """Draw for each query the histograms of all models, with a mark at each peak (Sjöblom et al. 2018, figure 1)."""
    figure, axes = new_grid(len(drawn), 3.6)
    edges = np.linspace(-1.0, 1.0, _BARS + 1)
    for (query, models), axis in zip(drawn, axes, strict=True):
        for name, statistics in models.items():
            colour = COLOURS[names.index(name) % len(COLOURS)]
            shares = 100.0 * statistics["counts"].reshape(_BARS, -1).sum(axis=1) / statistics["sentences"]
            axis.stairs(shares, edges, label=plot_label(name), linewidth=1.7, color=colour)
        axis.set_title(f"“{plot_label(query)}”", fontsize=11)
        axis.set_xlabel("cosine with the sentence above")
        axis.set_ylabel(f"sentences (%, bars of {2 / _BARS:.2f})")
        axis.set_ylim(bottom=0)
        axis.legend(frameon=False)
    save_plot(figure, path)


def _table(queries: Sequence[str], distributions: Distributions) -> str:
    """Format the statistics of all distributions."""
    header = ["query", "model", "sentences", "mean", "deviation", "median", "99 %", "99.9 %", "greatest"]
    rows = []
    for query, models in zip(queries, distributions, strict=False):
        for name, statistics in models.items():
            values = [statistics["mean"], statistics["standard_deviation"]]
            values += [*(statistics["quantiles"][share] for share in ("0.5", "0.99", "0.999")), statistics["greatest"]]
            # Adding 0 turns −0 into 0.
            cells = [f"{round(value, 3) + 0.0:.3f}" for value in values]
            rows.append([plain_markdown(query, 40), name, f"{statistics['sentences']:,}", *cells])
    return format_table(header, rows)

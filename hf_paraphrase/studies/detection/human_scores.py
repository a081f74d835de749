"""The command `analyze human-scores`: compares human scores of sentence pairs with the cosines of encoders."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...data.folder import DataFolder
from ...encoders.dev_sets.pair_sets import GradedSet, read_graded_folder, score_with_encoder
from ...errors import InputError
from ...settings import recipe, setting
from ...tables import format_table, number
from ...vectors.similarity import is_constant, spearman
from ..report import COLOURS, new_grid, plot_label, report, save_plot
from .neighbours import ComparisonSettings, distinct_names

_MOST_GROUPS = 12
"""The maximum number of distinct scores that are not merged into bands."""
_LEVEL = 0.01
"""The level of significance of the paper."""
_TEST = ("difference", "t", "degrees", "p", "p_holm")
"""The columns of the t-test against the next lower score."""

Scores = dict[str, dict[str, Any]]
"""The result of :func:`compare_scores` on one set, by model."""


@dataclass(kw_only=True)
class HumanScoreSettings(ComparisonSettings):
    """Compare human scores of sentence pairs with the cosines of encoders (Sjöblom et al. 2018, section A.4).

    For each data folder and each encoder: the mean and the standard deviation of the cosine of every human score,
    Welch's t-tests between neighbouring scores, and Spearman's correlation.
    """

    data: list[str] = setting("data folders with the columns sentence1, sentence2 and score", path=True, dataset=True)
    split: list[str] = setting(
        "splits to concatenate [default: validation, or NAME.validation of each configuration, or all splits]", []
    )


@recipe(HumanScoreSettings)
def analyze_human_scores(settings: HumanScoreSettings) -> dict[str, Scores]:
    """Compare human scores of sentence pairs with the cosines of encoders (Sjöblom et al. 2018, section A.4).

    Returns:
        The results of :func:`compare_scores`, by data and model.
    """
    names = distinct_names(settings.data, "data folder")
    sets = [_read_set(name, Path(path), settings.split) for name, path in zip(names, settings.data, strict=True)]
    encoders = settings.encoders()
    with report(
        "human-scores", settings, [*settings.model, *settings.data], card="analysis_human_scores", draws=True
    ) as output:
        scores: dict[str, Scores] = {data: {} for data in names}
        for model, encoder in encoders.items():
            for scored in score_with_encoder(partial(encoder.encode, batch_size=settings.batch_size), sets):
                scores[scored.graded.name][model] = compare_scores(scored.graded.scores, scored.similarities)
        tests = correct(scores)
        _plot(scores, output.picture("human_scores"))
        header = ["data", "model", "score", "pairs", "mean", "standard_deviation", *_TEST]
        output.table("scores", header, _rows(scores))
        table = _summary_table(scores)
        values = {"models": list(encoders), "summary": table, "tests": tests, "level": _LEVEL}
        output.finish({"sets": scores, "tests_in_the_correction": tests}, values, table)
    return scores


def _read_set(name: str, folder: Path, splits: Sequence[str]) -> GradedSet:
    splits = list(dict.fromkeys(splits)) or _default_splits(folder)
    parts = [read_graded_folder(folder, split, is_given=True) for split in splits]
    if not any(map(len, parts)):
        raise InputError(f"no pair in {', '.join(splits)}", path=folder, remedy="give another --split")
    first = [text for part in parts for text in part.sentences1]
    second = [text for part in parts for text in part.sentences2]
    return GradedSet(name, "graded", first, second, np.concatenate([part.scores for part in parts]))


def _default_splits(folder: Path) -> list[str]:
    names = DataFolder(folder).splits
    return [name for name in names if name == "validation" or name.endswith(".validation")] or names


def banded(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Round scores (pairs,) of more than twelve distinct values to eleven evenly spaced ones."""
    if len(np.unique(scores)) <= _MOST_GROUPS:
        return scores
    least, step = scores.min(), np.ptp(scores) / 10
    bands = np.floor((scores - least) / step + 0.5 + 1e-9)
    return np.asarray(np.round(least + step * bands, 9), np.float64)


def compare_scores(scores: NDArray[np.float64], cosines: NDArray[np.float64]) -> dict[str, Any]:
    """Describe the cosines (pairs,) of each human score (pairs,), and test whether neighbouring scores differ.

    Returns:
        `spearman` (× 100; None if all scores or all cosines are equal), and in `scores` for each score, or band of
        scores, `pairs`, `mean`, `deviation`, and Welch's t-test against the next lower score; None for the lowest.
    """
    groups = banded(scores)
    rows: list[dict[str, Any]] = []
    before: NDArray[np.float64] | None = None
    for score in np.unique(groups):
        values = cosines[groups == score]
        deviation = float(values.std(ddof=1)) if len(values) > 1 else None
        row = {"score": float(score), "pairs": len(values), "mean": float(values.mean()), "deviation": deviation}
        rows.append(row | dict.fromkeys(_TEST) | ({} if before is None else _test(before, values)))
        before = values
    is_undefined = is_constant(scores) or is_constant(cosines)
    return {"spearman": None if is_undefined else 100.0 * spearman(cosines, scores), "scores": rows}


def _test(low: NDArray[np.float64], high: NDArray[np.float64]) -> dict[str, float]:
    """Test whether two groups, each of at least two pairs and not both constant, have equal means (Welch 1947)."""
    from scipy.stats import ttest_ind

    difference = {"difference": float(high.mean() - low.mean())}
    if min(len(low), len(high)) < 2 or (is_constant(low) and is_constant(high)):
        return difference
    result: Any = ttest_ind(high, low, equal_var=False)
    return difference | {"t": float(result.statistic), "degrees": float(result.df), "p": float(result.pvalue)}


def correct(scores: Mapping[str, Scores]) -> int:
    """Correct the probabilities of all tests of a report together (Holm 1979); return the number of tests.

    `p_holm` is the lowest significance level at which Holm's procedure rejects the hypothesis.
    """
    rows = [row for models in scores.values() for compared in models.values() for row in compared["scores"]]
    tests = sorted((row for row in rows if row["p"] is not None), key=lambda row: row["p"])
    highest = 0.0
    for rank, test in enumerate(tests):
        highest = test["p_holm"] = max(highest, min(1.0, (len(tests) - rank) * test["p"]))
    return len(tests)


def _plot(scores: Mapping[str, Scores], path: Path) -> None:
    """Draw the mean cosine of each human score, with bars of one standard deviation to either side."""
    figure, axes = new_grid(len(scores), 4.0, sharey=True)
    for (data, models), axis in zip(scores.items(), axes, strict=True):
        for index, (name, compared) in enumerate(models.items()):
            groups = compared["scores"]
            # Side by side, so that the bars do not hide one another.
            shift = (index - (len(models) - 1) / 2) * min(0.16, 0.6 / len(models))
            axis.errorbar(
                np.arange(len(groups)) + shift,
                [group["mean"] for group in groups],
                [group["deviation"] or 0.0 for group in groups],
                label=plot_label(name),
                color=COLOURS[index % len(COLOURS)],
                marker="o",
                capsize=3,
            )
        ticks = [f"{group['score']:g}\n{group['pairs']:,}" for group in groups]
        axis.set_xticks(range(len(groups)), ticks, fontsize=8)
        axis.set_title(plot_label(data), fontsize=11)
        axis.set_xlabel("human score (below it: pairs)")
        axis.set_ylabel("cosine (mean ± standard deviation)")
        axis.legend(frameon=False)
    save_plot(figure, path)


def _rows(scores: Mapping[str, Scores]) -> Iterable[list[object]]:
    for data, models in scores.items():
        for name, compared in models.items():
            for row in compared["scores"]:
                values = [row[key] for key in ("pairs", "mean", "deviation", *_TEST)]
                yield [data, name, f"{row['score']:g}", *values]


def _summary_table(scores: Mapping[str, Scores]) -> str:
    rows = []
    for data, models in scores.items():
        for name, compared in models.items():
            steps = compared["scores"][1:]
            tested = [step for step in steps if step["p"] is not None]
            significant = [
                sum(step[key] < _LEVEL and step["difference"] > 0 for step in tested) for key in ("p", "p_holm")
            ]
            pairs = sum(row["pairs"] for row in compared["scores"])
            rises = sum(step["difference"] > 0 for step in steps)
            cells = [f"{count} of {len(tested)}" for count in significant]
            rows.append([data, name, f"{pairs:,}", number(compared["spearman"]), f"{rises} of {len(steps)}", *cells])
    header = ["data", "model", "pairs", "Spearman × 100", "steps up", f"p < {_LEVEL:g}", f"p (Holm) < {_LEVEL:g}"]
    return format_table(header, rows)

"""The recipe of the verb `analyze human-scores`: human scores of sentence pairs against the cosines of encoders."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...artefacts.provenance import inherited_metadata
from ...artefacts.remote_paths import to_path
from ...data.folder import DataFolder, check_split_name
from ...encoders.sentence_encoder import SentenceEncoder
from ...errors import InputError, UsageError
from ...evaluation.correlation import is_constant, spearman
from ...evaluation.figures import COLOURS, new_figure, plot_label, save_plot
from ...evaluation.graded_set import GradedSet, read_graded_folder, score_with_encoder
from ...settings import recipe, setting
from ...tables import format_table, number, plain_markdown, short_names
from ..report import report
from .queries import ComparisonSettings, model_names

_LANGUAGE = "{lang}"
_MOST_GROUPS = 12
"""Different scores up to which each is a group of its own."""
_LEVEL = 0.01
"""The level of significance of the paper."""

Scores = dict[str, dict[str, Any]]
"""For each model what :func:`compare_scores` gives for one set."""


@dataclass(kw_only=True)
class HumanScoreSettings(ComparisonSettings):
    """Compares human scores of sentence pairs with the cosines of encoders (paper 003, section A.4, figure 2).

    For each data folder, normally one a language, and each encoder: the mean and the standard deviation of the cosine
    of every human score, Welch's t-tests between neighbouring scores, and Spearman's correlation.
    """

    model: list[str] = setting(
        "one or more folders of sentence encoders; `{lang}` in a name stands for the language on the card of a data "
        "folder, where each language has encoders of its own: --model avg-{lang} gran-{lang}",
        path=True,
    )
    data: list[str] = setting(
        "one or more data folders with the columns sentence1, sentence2 and score, such as prepare opusparcus, turku, "
        "sts, sick, pit2015 and stsbenchmark make",
        path=True,
    )
    split: list[str] = setting(
        "the splits to read, put together; by default validation, or that of each configuration (NAME.validation), or "
        "where there is none all splits",
        [],
    )


@dataclass(frozen=True, eq=False)
class _Set:
    """One data folder as it is compared."""

    folder: Path
    splits: list[str]
    graded: GradedSet
    language: str | None
    step: float | None

    def model(self, name: str) -> str:
        """Returns the model of this set's language."""
        if _LANGUAGE not in name:
            return name
        if self.language is None:
            raise InputError(
                f"the card names no language, or several, to put into --model {name}",
                path=self.folder,
                remedy="name the encoder, and analyse this folder by itself",
            )
        if not self.language.replace("-", "").isalnum():
            raise InputError(f"not the code of a language on the card: {self.language}", path=self.folder)
        return name.replace(_LANGUAGE, self.language)


@recipe(HumanScoreSettings)
def analyze_human_scores(settings: HumanScoreSettings) -> dict[str, Scores]:
    """Compares human scores of sentence pairs with the cosines of encoders (paper 003, section A.4, figure 2).

    Returns:
        By the names of data and model, what :func:`compare_scores` gives.
    """
    names = _short_names(settings.model)
    sets = {item.graded.name: item for item in _read_sets(settings)}
    every = list(dict.fromkeys(item.model(name) for item in sets.values() for name in settings.model))
    encoders = {model: SentenceEncoder.from_pretrained(model, device=settings.device) for model in every}
    with report("human-scores", settings, [*every, *settings.data], card="analysis_human_scores") as output:
        scores: dict[str, Scores] = {data: {} for data in sets}
        for data, item in sets.items():
            for name, model in zip(names, map(item.model, settings.model), strict=True):
                found = _scored(encoders[model], item, settings.batch_size)
                scores[data][name] = {"model": to_path(model).resolve().name, **found}
        tests = correct(scores)
        _plot(scores, output.picture("human_scores"))
        header = ["data", "model", "score", "pairs", "mean", "standard_deviation", *_TEST]
        output.table("scores", header, _rows(scores))
        described: list[dict[str, Any]] = [
            {
                "data": data,
                "folder": item.folder.resolve().name,
                "splits": item.splits,
                "language": item.language,
                "pairs": len(item.graded),
                "step": item.step,
                "models": scores[data],
            }
            for data, item in sets.items()
        ]
        shown = [
            {
                **item,
                "name": plain_markdown(item["data"]),
                "table": _set_table(item["models"]),
                "notes": [f"{name}: {note}" for name, found in item["models"].items() for note in _notes(found)],
            }
            for item in described
        ]
        table = _summary_table(scores)
        values = {"sets": shown, "models": names, "summary": table, "tests": tests, "level": _LEVEL}
        output.finish({"sets": described, "tests_in_the_correction": tests}, values, table)
    return scores


def _short_names(models: Sequence[str]) -> list[str]:
    """Names the models without the language, where that distinguishes them."""
    names = model_names(models)
    plain = short_names([model.replace(_LANGUAGE, "").rstrip("-_. /") for model in models])
    plain = [name.strip("-_. /") for name in plain]
    return plain if all(plain) and len(set(plain)) == len(models) else names


def _read_sets(settings: HumanScoreSettings) -> Iterable[_Set]:
    if len(set(settings.data)) < len(settings.data):
        raise UsageError("a data folder is given twice", remedy="give each folder once")
    for path, name in zip(settings.data, short_names(settings.data), strict=True):
        folder = Path(path)
        splits = [check_split_name(split) for split in dict.fromkeys(settings.split)] or _default_splits(folder)
        parts = [read_graded_folder(folder, split) for split in splits]
        scores = np.concatenate([part.scores for part in parts])
        if not len(scores):
            raise InputError(f"no pair in {', '.join(splits)}", path=folder, remedy="give another --split")
        languages = inherited_metadata(folder)["language"]
        language = languages[0] if len(languages) == 1 else None
        label = name if language is None or language in name.replace("-", "_").split("_") else f"{name} ({language})"
        graded = GradedSet(
            label,
            "graded",
            [text for part in parts for text in part.sentences1],
            [text for part in parts for text in part.sentences2],
            scores,
        )
        yield _Set(folder, splits, graded, language, score_step(scores))


def _default_splits(folder: Path) -> list[str]:
    names = DataFolder(folder).splits
    if "validation" in names:
        return ["validation"]
    return [name for name in names if name.endswith(".validation")] or names


def _scored(encoder: SentenceEncoder, item: _Set, batch_size: int) -> dict[str, Any]:
    """Compares the scores of a set with the cosines; also counts the pairs with a zero vector."""
    zero: set[str] = set()

    def encode(texts: list[str]) -> NDArray[np.float32]:
        vectors = encoder.encode(texts, batch_size=batch_size)
        zero.update(texts[row] for row in np.flatnonzero(~vectors.any(axis=1)))
        return vectors

    (found,) = score_with_encoder(encode, [item.graded])
    pairs = zip(item.graded.sentences1, item.graded.sentences2, strict=True)
    unknown = sum(one in zero or two in zero for one, two in pairs)
    return {"pairs_with_an_unknown_side": unknown, **compare_scores(item.graded.scores, found.similarities, item.step)}


def score_step(scores: NDArray[np.float64]) -> float | None:
    """Returns the width of the bands into which scores (pairs,) are put, of which there are at most twelve.

    None for at most twelve different scores: each is a group of its own. Else the least of 1, 2 and 5 times a power of
    ten.
    """
    if len(np.unique(scores)) <= _MOST_GROUPS:
        return None
    ends = np.array([scores.min(), scores.max()])
    power = math.floor(math.log10((ends[1] - ends[0]) / _MOST_GROUPS))
    steps = [factor * 10.0**exponent for exponent in range(power, power + 3) for factor in (1.0, 2.0, 5.0)]
    return next(step for step in steps if np.ptp(score_bands(ends, step)) < _MOST_GROUPS)


def score_bands(scores: NDArray[np.float64], step: float) -> NDArray[np.int64]:
    """Numbers the bands of scores (pairs,): band k is around k · step and includes its lower end."""
    return np.floor(scores / step + 0.5 + 1e-9).astype(np.int64)


def compare_scores(
    scores: NDArray[np.float64], cosines: NDArray[np.float64], step: float | None = None
) -> dict[str, Any]:
    """Describes the cosines (pairs,) of each human score (pairs,), and tests whether neighbouring scores differ.

    A score with a single pair has a mean but no standard deviation, and no test with its neighbours; a set with one
    score only has no test and no correlation. With a step the scores are put into bands of that width.

    Returns:
        `spearman` (× 100), `note`, `scores` (groups) and `tests` (Welch's t-test).
    """
    bands = np.unique(scores, return_inverse=True)[1] if step is None else score_bands(scores, step)
    numbers = np.unique(bands)
    names = [float(scores[bands == band][0]) if step is None else round(float(band) * step, 9) for band in numbers]
    groups = list(zip(names, [cosines[bands == band] for band in numbers], strict=True))
    note = ""
    if is_constant(scores):
        note = "all human scores are equal: no correlation is defined"
    elif is_constant(cosines):
        note = "all cosines are equal: no correlation is defined"
    return {
        "spearman": None if note else 100.0 * spearman(cosines, scores),
        "note": note,
        "scores": [
            {
                "score": name,
                "pairs": len(values),
                "mean": float(values.mean()),
                "deviation": float(values.std(ddof=1)) if len(values) > 1 else None,
            }
            for name, values in groups
        ],
        "tests": [_test(low, high) for low, high in pairwise(groups)],
    }


_TEST = ("difference", "t", "degrees", "p", "p_holm")


def _test(low: tuple[float, NDArray[np.float64]], high: tuple[float, NDArray[np.float64]]) -> dict[str, Any]:
    """Tests whether two groups have the same mean (Welch 1947)."""
    from scipy.stats import ttest_ind

    test: dict[str, Any] = {"low": low[0], "high": high[0], **dict.fromkeys(_TEST), "note": ""}
    test["difference"] = float(high[1].mean() - low[1].mean())
    few = [f"{name:g}" for name, values in (low, high) if len(values) < 2]
    if few:
        test["note"] = f"fewer than 2 pairs at {' and '.join(few)}"
    elif is_constant(low[1]) and is_constant(high[1]):
        test["note"] = "no spread at either score"
    else:
        found: Any = ttest_ind(high[1], low[1], equal_var=False)
        test |= {"t": float(found.statistic), "degrees": float(found.df), "p": float(found.pvalue)}
    return test


def correct(scores: Mapping[str, Scores]) -> int:
    """Corrects the probabilities of all tests of a report together (Holm 1979); returns how many there are.

    `p_holm` is the least level at which Holm's procedure rejects the hypothesis.
    """
    tests = [test for models in scores.values() for found in models.values() for test in found["tests"]]
    made = sorted((test for test in tests if test["p"] is not None), key=lambda test: test["p"])
    highest = 0.0
    for rank, test in enumerate(made):
        highest = test["p_holm"] = max(highest, min(1.0, (len(made) - rank) * test["p"]))
    return len(made)


def _plot(scores: Mapping[str, Scores], path: Path) -> None:
    """Draws the mean cosine of each human score, with bars of one standard deviation to either side."""
    columns = min(2, len(scores))
    rows = -(-len(scores) // columns)
    figure, axes = new_figure(7.5 if columns == 1 else 12.0, 0.6 + 4.0 * rows, rows, columns, sharey=True)
    for axis in axes.flat[len(scores) :]:
        axis.set_visible(False)
    for (data, models), axis in zip(scores.items(), axes.flat, strict=False):
        for index, (name, found) in enumerate(models.items()):
            groups = found["scores"]
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
        axis.set_xticks(
            range(len(groups)), [f"{group['score']:g}\n{group['pairs']:,}" for group in groups], fontsize=8
        )
        axis.set_title(plot_label(data), fontsize=11)
        axis.set_xlabel("human score (below it: pairs)")
        axis.set_ylabel("cosine (mean ± standard deviation)")
        axis.legend(frameon=False)
    save_plot(figure, path)


def _notes(found: Mapping[str, Any]) -> list[str]:
    notes = [found["note"]] if found["note"] else []
    notes += [
        f"{test['low']:g} and {test['high']:g} not tested: {test['note']}" for test in found["tests"] if test["note"]
    ]
    if zeros := found["pairs_with_an_unknown_side"]:
        notes.append(
            f"{zeros:,} pairs have a side without a word in the encoder's vocabulary; their cosine counts as 0"
        )
    return notes


def _steps(found: Mapping[str, Any]) -> Iterable[tuple[dict[str, Any], dict[str, Any] | None]]:
    """Pairs each group with the test against the group before it; None for the first one."""
    return zip(found["scores"], [None, *found["tests"]], strict=True)


def _rows(scores: Mapping[str, Scores]) -> Iterable[list[object]]:
    for data, models in scores.items():
        for name, found in models.items():
            for group, test in _steps(found):
                cells = [None if test is None else test[key] for key in _TEST]
                yield [data, name, f"{group['score']:g}", group["pairs"], group["mean"], group["deviation"], *cells]


def _summary_table(scores: Mapping[str, Scores]) -> str:
    rows = []
    for data, models in scores.items():
        for name, found in models.items():
            tests = found["tests"]
            tested = [test for test in tests if test["p"] is not None]
            significant = [
                sum(test[key] < _LEVEL and test["difference"] > 0 for test in tested) for key in ("p", "p_holm")
            ]
            pairs = sum(group["pairs"] for group in found["scores"])
            rises = sum(test["difference"] > 0 for test in tests)
            cells = [f"{count} of {len(tested)}" for count in significant]
            rows.append([data, name, f"{pairs:,}", number(found["spearman"]), f"{rises} of {len(tests)}", *cells])
    header = ["data", "model", "pairs", "Spearman × 100", "steps up", f"p < {_LEVEL:g}", f"p (Holm) < {_LEVEL:g}"]
    return format_table(header, rows)


def _set_table(models: Scores) -> str:
    """Formats for each human score its mean cosine, and the step from the score before."""
    header = ["human score", "pairs"]
    for name in models:
        header += [f"{name}: cosine", "step", "p", "p (Holm)"]
    rows = []
    for steps in zip(*map(_steps, models.values()), strict=True):
        row = [f"{steps[0][0]['score']:g}", f"{steps[0][0]['pairs']:,}"]
        for group, test in steps:
            deviation = "–" if group["deviation"] is None else f"{group['deviation']:.3f}"
            row += [f"{group['mean']:.3f} ± {deviation}", "" if test is None else f"{test['difference']:+.3f}"]
            row += ["" if test is None else _probability(test[key]) for key in ("p", "p_holm")]
        rows.append(row)
    return format_table(header, rows)


def _probability(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:.3f}" if value >= 0.001 else f"{value:.0e}" if value > 0 else "0"

"""Writes the tables and figure 1 of the study of paper 002 over several seeds, and whether each of its findings holds.

    python scripts/studies/mining.py WORK/seed_0/report WORK/seed_1/report WORK/seed_2/report --picture curves.png

Each folder is what `evaluate-mining` wrote for everything that was trained with one seed, with the classifiers of
`mining.sh`. Verdicts are those of `evaluation/verdicts.py`, over the seeds, paired, and the pairs, for all findings
together. The hidden pairs are the same for all seeds and classifiers, and a report has only numbers of them; drawn
again they are as if all seeds found the same ones and two classifiers others, which makes an interval rather too wide.
The picture has precision over recall: the mean over the seeds, within the least and the greatest of a seed.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hf_paraphrase.errors import HfParaphraseError, InputError
from hf_paraphrase.evaluation.figures import COLOURS, new_figure, save_figure
from hf_paraphrase.evaluation.verdicts import Claim, difference, spread
from hf_paraphrase.tables import format_table

CLASSIFIERS = {
    "random": "random negatives, digits kept",
    "zero": "the same, digits made 0",
    "remove": "the same, digits removed",
    "hard": "negatives from the n-best lists",
}
"""What the classifiers of the study are, by their names."""
GROUPS = {"random_pairs": "among random pairs", "candidates": "on the candidates of the filter"}
RECALLS = np.linspace(0, 100, 201)
REPLICATES = 1000
Report = Mapping[str, Any]
Found = Callable[[Report], Mapping[str, float]]
"""What a way to score found in a report: `found` pairs, of which so many are `right`, of `gold`; `f1` and so on."""


def among_random(name: str, report: Report) -> Mapping[str, float]:
    """What a classifier finds among random pairs, with the best threshold of the tuning part."""
    found: Mapping[str, float] = report["random_pairs"][name]
    return found


def best_among_random(name: str, report: Report) -> Mapping[str, float]:
    """The same with the threshold that is best for the very pairs, as the paper has it."""
    best: Mapping[str, float] = report["random_pairs"][name]["best"]
    return best


def on_candidates(name: str, threshold: str, report: Report, one_to_one: bool = False) -> Mapping[str, float]:
    """What a way to score finds among the candidates of the filter."""
    way = (name, threshold, one_to_one)
    for row in report["candidates"]:
        if (row["score"], row["threshold_is"], bool(row["one_to_one"])) == way:
            test: Mapping[str, float] = row["test"]
            return test
    raise KeyError(name)


_RANDOM, _ON = partial(partial, among_random), partial(partial, on_candidates)
FINDINGS: tuple[tuple[str, Found, Found, Claim], ...] = (
    ("digits kept are better than made 0, among random pairs", _RANDOM("random"), _RANDOM("zero"), "above"),
    ("digits kept are better than removed", _RANDOM("random"), _RANDOM("remove"), "above"),
    ("digits removed are better than made 0", _RANDOM("remove"), _RANDOM("zero"), "above"),
    (
        "the classifier is worse on candidates than among random pairs",
        _ON("random", "tuned"),
        _RANDOM("random"),
        "below",
    ),
    (
        "negatives from the n-best lists are better on candidates",
        _ON("hard", "tuned"),
        _ON("random", "tuned"),
        "above",
    ),
    ("the same with the paper's λ", _ON("hard", "fixed"), _ON("random", "fixed"), "above"),
    ("and do no harm among random pairs", _RANDOM("hard"), _RANDOM("random"), "little"),
)
"""What paper 002 says, or proposes: two values and where their difference is then, in points of F1.

A threshold that was chosen is compared with chosen ones only, a fixed one with fixed ones."""


def main() -> int:
    """Prints the tables and draws the picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("report", nargs="+", type=Path, help="the report of each seed")
    parser.add_argument("--picture", type=Path, help="PNG file to draw figure 1 into")
    options = parser.parse_args()
    try:
        sys.stdout.write(tables([read_report(folder) for folder in options.report]))
        if options.picture:
            draw(options.picture, options.report)
    except HfParaphraseError as error:
        sys.stderr.write(f"mining: error: {error}\n")
        return 2
    return 0


def read_report(folder: Path) -> Report:
    """Reads the results of a report."""
    path = folder / "results.json"
    try:
        found: Report = json.loads(path.read_text(encoding="utf-8"))
        for name in CLASSIFIERS:
            best_among_random(name, found)["f1"]
            drawn_f1([among_random(name, found), on_candidates(name, "fixed", found)], seed=0)
    except (OSError, ValueError, LookupError, TypeError) as error:
        remedy = "remove it and run mining.sh again"
        raise InputError("not the report of this study's classifiers", path=path, remedy=remedy) from error
    return found


def drawn_f1(found: Sequence[Mapping[str, float]], seed: int) -> NDArray[np.float64]:
    """Computes F1 × 100 of each seed with the pairs drawn again (replicates, seeds).

    F1 depends on how many pairs are right, false and missed. Each number varies by its root, and for all seeds alike.
    """
    numbers = np.array([[row["right"], row["found"] - row["right"], row["gold"] - row["right"]] for row in found])
    noise = np.random.default_rng(seed).normal(size=(REPLICATES, 1, 3))
    right, false, missed = np.moveaxis(np.maximum(numbers + np.sqrt(numbers) * noise, 0), -1, 0)
    return 200 * right / np.maximum(2 * right + false + missed, 1)


def tables(reports: Sequence[Report]) -> str:
    """Formats recalls, the classifiers, the ways of the repair, and the findings with intervals and verdicts."""

    def over_seeds(found: Found, *measures: str) -> list[str]:
        return [spread([100 * found(report)[measure] for report in reports]) for measure in measures]

    recall = reports[0]["recall"]
    counts = [str(row["n"]) for row in next(iter(recall.values()))]
    recalls = [
        [name, *(spread([report["recall"][name][place]["share"] for report in reports]) for place in range(len(rows)))]
        for name, rows in recall.items()
    ]
    measured = ["precision", "recall", "f1"]
    classifiers = [
        [
            what,
            *over_seeds(partial(among_random, name), "f1"),
            *over_seeds(partial(best_among_random, name), "f1"),
            *over_seeds(partial(on_candidates, name, "fixed"), *measured),
        ]
        for name, what in CLASSIFIERS.items()
    ]
    repair = []
    for row in reports[0]["candidates"]:
        if row["threshold_is"] == "tuned":
            way = partial(on_candidates, row["score"], "tuned", one_to_one=bool(row["one_to_one"]))
            repair.append([row["score"], "one-to-one" if row["one_to_one"] else "–", *over_seeds(way, *measured)])
    findings = []
    for claim, first, second, side in FINDINGS:
        found = [[what(report) for report in reports] for what in (first, second)]
        values = [{seed: 100 * row["f1"] for seed, row in enumerate(rows)} for rows in found]
        drawn = drawn_f1(found[0], 0), drawn_f1(found[1], 1)
        interval = difference(values[0], values[1], paired=True, pairs=drawn).interval(len(FINDINGS))
        findings.append([claim, f"{interval.text()}: {interval.verdict(side)}"])
    named = ["precision", "recall", "F1"]
    return "\n".join(
        [
            f"{len(reports)} seeds, per cent, mean ± standard deviation; translations among the n best:\n",
            format_table(["encoder", *counts], recalls),
            "\nClassifiers, on candidates with the fixed threshold:\n",
            format_table(["classifier", "F1 among random pairs", "best F1 there", *named], classifiers),
            "\nThresholds with the best F1 on the tuning part:\n",
            format_table(["score", "matching", *named], repair),
            "\nDifferences of F1:\n",
            format_table(["finding", f"difference over {len(reports)} seeds and the pairs"], findings),
        ]
    )


def precision_at(path: Path) -> NDArray[np.float64]:
    """Reads a curve of `evaluate-mining`: the best precision (recalls,) in per cent at each of `RECALLS` or above."""
    try:
        curve = np.genfromtxt(path, names=True, delimiter="\t")
        recall, precision = 100 * np.atleast_1d(curve["recall"]), 100 * np.atleast_1d(curve["precision"])
    except (OSError, ValueError, LookupError) as error:
        raise InputError("not a curve of this study", path=path, remedy="run mining.sh again") from error
    order = np.argsort(recall, kind="stable")
    best_from = np.maximum.accumulate(precision[order][::-1])[::-1]
    return np.append(best_from, 0.0)[np.searchsorted(recall[order], RECALLS)]


def draw(path: Path, reports: Sequence[Path]) -> None:
    """Draws a panel for each kind of pairs, a colour for each classifier."""
    figure, axes = new_figure(9.0, 3.8, columns=len(GROUPS))
    for axis, (group, title) in zip(axes[0], GROUPS.items(), strict=True):
        for colour, (name, what) in zip(COLOURS, CLASSIFIERS.items(), strict=False):
            seeds = np.stack([precision_at(report / "curves" / group / f"{name}.tsv") for report in reports])
            axis.fill_between(RECALLS, seeds.min(axis=0), seeds.max(axis=0), color=colour, alpha=0.2, linewidth=0)
            axis.plot(RECALLS, seeds.mean(axis=0), color=colour, label=what if axis is axes[0, 0] else None)
        axis.set_title(title)
        axis.set_xlabel("recall (%)")
        axis.set_xlim(0, 100)
        axis.set_ylim(0, 101)
    axes[0, 0].set_ylabel("precision (%)")
    figure.legend(loc="outside upper center", ncols=2, frameon=False)
    save_figure(figure, path)


if __name__ == "__main__":
    sys.exit(main())

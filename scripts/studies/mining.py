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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
Found = Mapping[str, Any]
"""What a way to score found: `found` pairs, of which so many are `right`, of `gold`; `f1` and so on."""
FINDINGS: tuple[tuple[str, str, str, Claim], ...] = (
    ("digits kept are better than made 0, among random pairs", "random, random pairs", "zero, random pairs", "above"),
    ("digits kept are better than removed", "random, random pairs", "remove, random pairs", "above"),
    ("digits removed are better than made 0", "remove, random pairs", "zero, random pairs", "above"),
    (
        "the classifier is worse on candidates than among random pairs",
        "random, tuned",
        "random, random pairs",
        "below",
    ),
    ("negatives from the n-best lists are better on candidates", "hard, tuned", "random, tuned", "above"),
    ("the same with the paper's λ", "hard, fixed", "random, fixed", "above"),
    ("and do no harm among random pairs", "hard, random pairs", "random, random pairs", "little"),
)
"""What paper 002 says, or proposes: two ways to score and where their difference is then, in points of F1.

A threshold that was chosen is compared with chosen ones only, a fixed one with fixed ones."""


@dataclass(frozen=True)
class Report:
    """The results of one seed: the recall of each encoder, and what was found.

    Among random pairs (`NAME, random pairs`) with the best threshold of the tuning part, or with that which is best
    for the very pairs, as the paper has it (`NAME, random pairs, best`); on the candidates of the filter with a
    threshold that was `tuned` or is `fixed`, and perhaps one-to-one.
    """

    recall: Mapping[str, Sequence[Mapping[str, float]]]
    found: Mapping[str, Found]

    @classmethod
    def read(cls, folder: Path) -> Report:
        """Reads the results of a report."""
        path = folder / "results.json"
        found: dict[str, Found] = {}
        try:
            results = json.loads(path.read_text(encoding="utf-8"))
            for row in results["candidates"]:
                matching = ", one-to-one" if row["one_to_one"] else ""
                found[f"{row['score']}{matching}, {row['threshold_is']}"] = row["test"]
            for name in CLASSIFIERS:
                found[f"{name}, random pairs"] = results["random_pairs"][name]
                found[f"{name}, random pairs, best"] = results["random_pairs"][name]["best"]
                drawn_f1([found[f"{name}, random pairs"], found[f"{name}, fixed"]], seed=0)
            return cls(results["recall"], found)
        except (OSError, ValueError, LookupError, TypeError) as error:
            remedy = "remove it and run mining.sh again"
            raise InputError("not the report of this study's classifiers", path=path, remedy=remedy) from error


def main() -> int:
    """Prints the tables and draws the picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("report", nargs="+", type=Path, help="the report of each seed")
    parser.add_argument("--picture", type=Path, help="PNG file to draw figure 1 into")
    options = parser.parse_args()
    try:
        sys.stdout.write(tables([Report.read(folder) for folder in options.report]))
        if options.picture:
            draw(options.picture, options.report)
    except HfParaphraseError as error:
        sys.stderr.write(f"mining: error: {error}\n")
        return 2
    return 0


def drawn_f1(found: Sequence[Found], seed: int) -> NDArray[np.float64]:
    """Computes F1 × 100 of each seed with the pairs drawn again (replicates, seeds).

    F1 depends on how many pairs are right, false and missed. Each number varies by its root, and for all seeds alike.
    """
    numbers = np.array([[row["right"], row["found"] - row["right"], row["gold"] - row["right"]] for row in found])
    noise = np.random.default_rng(seed).normal(size=(REPLICATES, 1, 3))
    right, false, missed = np.moveaxis(np.maximum(numbers + np.sqrt(numbers) * noise, 0), -1, 0)
    return 200 * right / np.maximum(2 * right + false + missed, 1)


def tables(reports: Sequence[Report]) -> str:
    """Formats recalls, the classifiers, the ways of the repair, and the findings with intervals and verdicts."""

    def over_seeds(way: str, *measures: str) -> list[str]:
        return [spread([100 * report.found[way][measure] for report in reports]) for measure in measures]

    recall = reports[0].recall
    counts = [str(row["n"]) for row in next(iter(recall.values()))]
    recalls = [
        [name, *(spread([report.recall[name][place]["share"] for report in reports]) for place in range(len(rows)))]
        for name, rows in recall.items()
    ]
    measured = ["precision", "recall", "f1"]
    classifiers = [
        [
            what,
            *over_seeds(f"{name}, random pairs", "f1"),
            *over_seeds(f"{name}, random pairs, best", "f1"),
            *over_seeds(f"{name}, fixed", *measured),
        ]
        for name, what in CLASSIFIERS.items()
    ]
    tuned = [way for way in reports[0].found if way.endswith(", tuned")]
    repair = [[way.removesuffix(", tuned"), *over_seeds(way, *measured)] for way in tuned]
    findings = []
    for claim, first, second, side in FINDINGS:
        found = [[report.found[way] for report in reports] for way in (first, second)]
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
            format_table(["score", *named], repair),
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

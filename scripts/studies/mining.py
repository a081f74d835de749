"""What reports of `evaluate-mining` found, by the ways to score of `designs/mining.yaml`, and figure 1 of paper 002.

    python scripts/studies/mining.py WORK --output curves.png

draws the mean precision over recall of the reports in WORK/seed_*, within the least and the greatest of a seed.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from hf_paraphrase.errors import UsageError
from hf_paraphrase.evaluation.figures import COLOURS, new_figure, save_figure

CLASSIFIERS = {
    "random": "random negatives, digits kept",
    "zero": "the same, digits made 0",
    "remove": "the same, digits removed",
    "hard": "negatives from the n-best lists",
}
GROUPS = {"random_pairs": "among random pairs", "candidates": "on the candidates of the filter"}
RECALLS = np.linspace(0, 100, 201)
REPLICATES = 1000
Numbers = NDArray[np.float64]


def read_report(folder: Path) -> dict[str, Any]:
    """Returns what a report found by way, in per cent.

    Among random pairs (`NAME, random pairs`) with the best threshold of the tuning part, or with that which is best
    for the very pairs, as the paper has it (`NAME, random pairs, best`); on the candidates of the filter with a
    threshold that was `tuned` or is `fixed`, and perhaps one-to-one; and of an encoder the share of the gold pairs
    among its n best. In a folder that is not called `report` its name comes before each way.
    """
    results = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    ways: dict[str, Any] = {
        f"{row['score']}{', one-to-one' if row['one_to_one'] else ''}, {row['threshold_is']}": row["test"]
        for row in results["candidates"]
    }
    for name, found in results["random_pairs"].items():
        ways |= {f"{name}, random pairs": found, f"{name}, random pairs, best": found["best"]}
    ways |= {name: {str(row["n"]): row["share"] for row in rows} for name, rows in results["recall"].items()}
    prefix = "" if folder.name == "report" else f"{folder.name} "
    return {f"{prefix}{way}": found for way, found in ways.items()}


def measured_way(way: str, wanted: str | int, reports: Sequence[Mapping[str, Any]]) -> tuple[Numbers, Numbers | None]:
    """Returns a number of a way in the report of each seed, in per cent, and F1 with the pairs drawn again too.

    The hidden pairs are the same for all seeds and ways, and a report has only numbers of them; drawn again they are
    as if all seeds found the same ones and two ways others, which makes an interval rather too wide.
    """
    if any(way not in report for report in reports):
        raise UsageError(f"the reports have no way `{way}`", remedy=f"one of {', '.join(reports[0])}")
    found = [report[way] for report in reports]
    if isinstance(wanted, int):
        return np.array([row[str(wanted)] for row in found]), None
    values = 100 * np.array([row[wanted] for row in found])
    return values, drawn_f1(found, crc32(way.encode())) if wanted == "f1" else None


def drawn_f1(found: Sequence[Mapping[str, Any]], seed: int) -> Numbers:
    """Computes F1 × 100 of each seed with the pairs drawn again (replicates, seeds).

    F1 depends on how many pairs are right, false and missed. Each number varies by its root, and for all seeds alike.
    """
    numbers = np.array([[row["right"], row["found"] - row["right"], row["gold"] - row["right"]] for row in found])
    noise = np.random.default_rng(seed).normal(size=(REPLICATES, 1, 3))
    right, false, missed = np.moveaxis(np.maximum(numbers + np.sqrt(numbers) * noise, 0), -1, 0)
    return np.asarray(200 * right / np.maximum(2 * right + false + missed, 1), np.float64)


def precision_at(path: Path) -> Numbers:
    """Reads a curve of `evaluate-mining`: the best precision (recalls,) in per cent at each of `RECALLS` or above."""
    curve = np.genfromtxt(path, names=True, delimiter="\t")
    recall, precision = 100 * np.atleast_1d(curve["recall"]), 100 * np.atleast_1d(curve["precision"])
    order = np.argsort(recall, kind="stable")
    best_from = np.maximum.accumulate(precision[order][::-1])[::-1]
    return np.append(best_from, 0.0)[np.searchsorted(recall[order], RECALLS)]


def main() -> int:
    """Draws a panel for each kind of pairs, a colour for each classifier."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path, help="the folder of the study")
    parser.add_argument("--output", type=Path, required=True, help="PNG file")
    options = parser.parse_args()
    curves = sorted(options.work.glob("seed_*/report/curves"))
    figure, axes = new_figure(9.0, 3.8, columns=len(GROUPS))
    for axis, (group, title) in zip(axes[0], GROUPS.items(), strict=True):
        for colour, (name, what) in zip(COLOURS, CLASSIFIERS.items(), strict=False):
            seeds = np.stack([precision_at(folder / group / f"{name}.tsv") for folder in curves])
            axis.fill_between(RECALLS, seeds.min(axis=0), seeds.max(axis=0), color=colour, alpha=0.2, linewidth=0)
            axis.plot(RECALLS, seeds.mean(axis=0), color=colour, label=what if axis is axes[0, 0] else None)
        axis.set(title=title, xlabel="recall (%)", xlim=(0, 100), ylim=(0, 101))
    axes[0, 0].set_ylabel("precision (%)")
    figure.legend(loc="outside upper center", ncols=2, frameon=False)
    save_figure(figure, options.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Draws precision over recall of the classifiers of paper 002 (figure 1), over the seeds of its study.

    python scripts/studies/mining_picture.py WORK/seed_*/report --output FILE.png

Among random pairs, as the paper judges them, and on the candidates of the filter, where they are needed: the mean over
the seeds of the precision at each recall, within the least and the greatest of a seed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hf_paraphrase.errors import HfParaphraseError, InputError
from hf_paraphrase.evaluation.figures import COLOURS, new_figure, save_figure
from mining_table import CLASSIFIERS

GROUPS = {"random_pairs": "among random pairs", "candidates": "on the candidates of the filter"}
RECALLS = np.linspace(0, 100, 201)


def main(words: Sequence[str] | None = None) -> int:
    """Draws the picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("report", nargs="+", type=Path, help="the report of each seed")
    parser.add_argument("--output", type=Path, required=True, help="PNG file")
    options = parser.parse_args(words)
    try:
        draw(options.output, options.report)
    except HfParaphraseError as error:
        sys.stderr.write(f"mining_picture: error: {error}\n")
        return 2
    return 0


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

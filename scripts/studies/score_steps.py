"""Does the cosine grow with people's score? A table and a plot from runs of `detection_runs.py` (paper 003, figure 2).

    python scripts/studies/score_steps.py --runs DIR --detection DIR --data DIR \
        --cells "wa: 3000" "gran: 3000" --picture FILE.png

For each score of people in PIT-2015 (the share of five who call a pair a paraphrase; pairs with two of five are
undecided and left out) the mean cosine of each encoder over its seeds, and for each step from a score to the next one
the difference with its interval over seeds and judged pairs, for all steps of the table together.
"""

from __future__ import annotations

import argparse
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np

from detection_design import Cell
from detection_table import runs_of
from hf_paraphrase.errors import HfParaphraseError, InputError
from hf_paraphrase.evaluation.figures import COLOURS, new_figure, plot_label, save_figure
from hf_paraphrase.evaluation.verdicts import Interval, difference
from hf_paraphrase.tables import format_table
from judged_sets import JudgedSets, Numbers

BySeed = dict[int, tuple[float, Numbers]]
"""By seed a mean cosine × 100, and its values in bootstrap replicates."""


def main() -> int:
    """Prints the table and returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=Path, required=True, help="the folder of the runs")
    parser.add_argument("--detection", type=Path, required=True, help="data folder of judged pairs")
    parser.add_argument("--data", type=Path, required=True, help="the folder that holds msrp, sick and sts")
    parser.add_argument("--cells", nargs="+", required=True, help="MODEL: PAIRS of each encoder")
    parser.add_argument("--picture", type=Path, required=True, help="the PNG file to write")
    options = parser.parse_args()
    try:
        sets = JudgedSets(options.detection, options.data)
        scores = sorted(set(sets.people.tolist()))
        found: dict[Cell, dict[float, BySeed]] = {}
        for cell in map(Cell.read, options.cells):
            runs = runs_of(cell, options.runs)
            # A study that was cut short has what there is.
            if not runs:
                continue
            found[cell] = {}
            for score in scores:
                values, drawn = sets.measure(f"score {score}", list(runs.values()))
                found[cell][score] = {seed: (float(values[i]), drawn[:, i]) for i, seed in enumerate(runs)}
        if not found:
            raise InputError("no run of these cells", path=options.runs, remedy="let detection_runs.py finish")
        sys.stdout.write(steps_table(found))
        draw(options.picture, found)
    except HfParaphraseError as error:
        print(f"score_steps: error: {error}", file=sys.stderr)
        return 2
    return 0


def step(first: BySeed, second: BySeed, comparisons: int) -> Interval:
    """Computes by how much the mean cosine of a score is above that of another, over the seeds, which both have."""
    drawn = tuple(np.stack([values for _, values in side.values()], axis=1) for side in (first, second))
    means = [{seed: mean for seed, (mean, _) in side.items()} for side in (first, second)]
    return difference(*means, paired=True, pairs=(drawn[0], drawn[1])).interval(comparisons)


def level(found: BySeed) -> Interval:
    """Computes the interval of a mean cosine."""
    nothing = {seed: (0.0, np.zeros_like(values)) for seed, (_, values) in found.items()}
    return step(found, nothing, 1)


def steps_table(found: dict[Cell, dict[float, BySeed]]) -> str:
    """Formats a row a step and encoder."""
    comparisons = sum(len(levels) - 1 for levels in found.values())
    rows = []
    for cell, levels in found.items():
        for low, high in pairwise(levels):
            interval = step(levels[high], levels[low], comparisons)
            seeds = str(len(levels[high]))
            rows.append([str(cell), seeds, f"{low:g} to {high:g}", f"{interval.text()}: {interval.verdict('above')}"])
    return format_table(["encoder: training pairs", "seeds", "score", "mean cosine × 100 grows by"], rows)


def draw(path: Path, found: dict[Cell, dict[float, BySeed]]) -> None:
    """Draws the mean cosine by the score, with intervals of single means."""
    figure, axes = new_figure(6.0, 3.2)
    axis = axes[0, 0]
    for place, ((cell, levels), colour) in enumerate(zip(found.items(), COLOURS, strict=False)):
        intervals = [level(by_seed) for by_seed in levels.values()]
        # Beside each other, so that no interval hides another.
        shifted = [score + 0.012 * (place - (len(found) - 1) / 2) for score in levels]
        heights = [interval.value for interval in intervals]
        ends = [[item.value - item.low for item in intervals], [item.high - item.value for item in intervals]]
        axis.errorbar(shifted, heights, ends, fmt="o-", color=colour, capsize=3, label=plot_label(str(cell)))
    axis.set_xlabel("share of five people who call the pair a paraphrase")
    axis.set_ylabel("mean cosine × 100")
    axis.legend()
    save_figure(figure, path)


if __name__ == "__main__":
    sys.exit(main())

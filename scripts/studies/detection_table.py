"""Makes the tables and the plot of a study of paraphrase detection from the runs of `detection_runs.py`.

    python scripts/studies/detection_table.py --design scripts/studies/designs/noise.yaml --runs DIR --detection DIR \
        --data DIR --output DIR

For each table of the design a row a cell, mean and standard deviation over its seeds, and a row a claim: the
difference in each column, paired by the seed, its interval over seeds and judged pairs, simultaneous for all of the
table, and the verdict (`evaluation/verdicts.py`). `--pictures` draws the claims of each table.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from detection_design import Cell, Claim, Design, Table, read_design
from hf_paraphrase.errors import HfParaphraseError
from hf_paraphrase.evaluation.verdicts import Interval, difference, spread
from hf_paraphrase.tables import format_table
from interval_picture import draw_intervals
from judged_sets import JudgedSets, Numbers

Measured = dict[Cell, dict[int, tuple[float, Numbers]]]
"""Of each cell by its seeds a measure, and its values in bootstrap replicates."""
SIGNS = (1, -1, -1, 1)


def main() -> int:
    """Writes the tables and returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--design", type=Path, required=True, help="the YAML file of the tables")
    parser.add_argument("--runs", type=Path, required=True, help="the folder of the runs")
    parser.add_argument("--detection", type=Path, required=True, help="data folder of judged pairs to test on")
    parser.add_argument("--data", type=Path, required=True, help="the folder that holds msrp, sick and sts")
    parser.add_argument("--pictures", action="store_true", help="also draw the claims of each table")
    parser.add_argument("--output", type=Path, required=True, help="a folder for a Markdown file a table")
    options = parser.parse_args()
    try:
        design = read_design(options.design)
        sets = JudgedSets(options.detection, options.data, **design.judged)
        options.output.mkdir(parents=True, exist_ok=True)
        for name, table in design.tables.items():
            measured = {column: measure(options.runs, design, name, column, sets) for column in table.columns}
            judged = judge(table, measured)
            text = f"{cells_table(measured)}\n{claims_table(table, judged)}"
            (options.output / f"{name}.md").write_text(text, encoding="utf-8")
            sys.stdout.write(f"{text}\n")
            if options.pictures:
                rows = [(claim.text, list(found.values())) for claim, found in judged.items()]
                draw_intervals(options.output / f"{name}.png", rows, list(table.columns), "difference, points")
    except HfParaphraseError as error:
        print(f"detection_table: error: {error}", file=sys.stderr)
        return 2
    return 0


def measure(runs: Path, design: Design, table: str, column: str, sets: JudgedSets) -> Measured:
    """Computes a measure of all runs that are there; cells without any are left out."""
    found: Measured = {}
    for cell in design.cells(table):
        there = runs_of(cell, runs)
        if not there:
            continue
        values, drawn = sets.measure(column, list(there.values()))
        found[cell] = {seed: (float(values[place]), drawn[:, place]) for place, seed in enumerate(there)}
    return found


def runs_of(cell: Cell, folder: Path) -> dict[int, dict[str, Numbers]]:
    """Reads what the encoders of a cell say of the judged pairs, by their seeds; nothing of one that was not run."""
    there: dict[int, dict[str, Numbers]] = {}
    while (path := cell.file(folder, len(there))).exists():
        there[len(there)] = dict(np.load(path))
    return there


def judge(table: Table, measured: Mapping[str, Measured]) -> dict[Claim, dict[str, Interval]]:
    """Computes the interval of each claim whose cells were run, simultaneous for all claims of the table."""
    comparisons = len(table.claims) * len(table.columns)
    done = next(iter(measured.values())).keys()
    return {
        claim: {column: contrast(claim, measured[column], comparisons) for column in table.columns}
        for claim in table.claims
        if done >= set(claim.cells)
    }


def contrast(claim: Claim, measured: Measured, comparisons: int) -> Interval:
    """Computes the interval of the difference that a claim is about, over the seeds that all its cells have."""
    sides = [measured[cell] for cell in claim.cells]
    seeds = [seed for seed in sides[0] if all(seed in side for side in sides)]
    signed = list(zip(SIGNS, sides, strict=False))
    values = {seed: sum(sign * side[seed][0] for sign, side in signed) for seed in seeds}
    drawn = np.stack([sum(sign * side[seed][1] for sign, side in signed) for seed in seeds], axis=1)
    nothing = dict.fromkeys(seeds, 0.0)
    return difference(values, nothing, paired=True, pairs=(drawn, np.zeros_like(drawn))).interval(comparisons)


def cells_table(measured: Mapping[str, Measured]) -> str:
    """Formats a row a cell: mean and standard deviation over the seeds."""
    first = next(iter(measured.values()))
    rows = [
        [str(cell), str(len(first[cell]))]
        + [spread([value for value, _ in found[cell].values()]) for found in measured.values()]
        for cell in first
    ]
    return format_table(["encoder: training pairs", "seeds", *measured], rows)


def claims_table(table: Table, judged: Mapping[Claim, Mapping[str, Interval]]) -> str:
    """Formats a row a claim."""
    rows = []
    for claim in table.claims:
        if claim not in judged:
            rows.append([claim.text, *("not run" for _ in table.columns)])
            continue
        cells = [f"{item.text()}: {item.verdict(claim.relation)}" for item in judged[claim].values()]  # type: ignore[arg-type]
        rows.append([claim.text, *cells])
    return format_table(["claim", *table.columns], rows)


if __name__ == "__main__":
    sys.exit(main())

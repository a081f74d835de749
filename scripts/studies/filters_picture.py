"""Draws what each filter gains over random pairs, from the tables that `tune` wrote for encoders of the same filters.

The intervals are those of the tables, over seeds and test pairs and for all filters together.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path

from hf_paraphrase.evaluation.verdicts import Interval
from interval_picture import draw_intervals

_INTERVAL = re.compile(r"([+-]\d+\.\d+) \[([+-]\d+\.\d+), ([+-]\d+\.\d+)\]")


def gains(table: str) -> dict[str, Interval]:
    """Reads the first table of a `table.md` of `tune`: for each filter its difference from random pairs, in points."""
    found = {}
    for line in table.split("\n\n")[0].splitlines():
        if numbers := _INTERVAL.search(line):
            found[line.split("|")[1].strip()] = Interval(*map(float, numbers.groups()))
    return found


def main(words: Sequence[str] | None = None) -> None:
    """Draws the picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", nargs="+", type=Path, required=True, help="NAME/table.md, NAME is the encoder")
    parser.add_argument("--output", type=Path, required=True, help="PNG file")
    options = parser.parse_args(words)
    encoders = {path.parent.name: gains(path.read_text(encoding="utf-8")) for path in options.tables}
    shared = [name for name in next(iter(encoders.values())) if all(name in found for found in encoders.values())]
    rows = [(name, [found[name] for found in encoders.values()]) for name in shared]
    draw_intervals(options.output, rows, list(encoders), "difference from random pairs, points")


if __name__ == "__main__":
    main()

"""Compares encoders with a first one, set by set of semantic textual similarity, with paired bootstrap intervals.

    python scripts/studies/paired_differences.py --data STS --model none=DIR captions=DIR,DIR,DIR all=DIR,DIR,DIR

An encoder with several folders, one a seed, counts as their mean. Prints a table: for each family of sets (STS16,
STS12 …, and all years but 2016 together) the mean Pearson's r × 100 and the difference from the first encoder with its
interval over seeds and sentence pairs, of 95 % for the whole table. A single folder is taken as it is: its seed is no
part of the interval.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hf_paraphrase import SentenceEncoder
from hf_paraphrase.errors import HfParaphraseError, UsageError
from hf_paraphrase.evaluation.bootstrap import bootstrap_means
from hf_paraphrase.evaluation.graded_set import GradedSet, score_with_encoder
from hf_paraphrase.evaluation.sts_files import find_sts_sets
from hf_paraphrase.evaluation.verdicts import difference

_REPLICATES = 2000
_YEARS = {"STS12", "STS13", "STS14", "STS15"}


def main() -> int:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, help="the folder of the sets")
    parser.add_argument("--model", nargs="+", required=True, help="NAME=DIR or NAME=DIR,DIR… of each encoder")
    parser.add_argument("--paired", action="store_true", help="the folders of all encoders are of the same seeds")
    options = parser.parse_args()
    try:
        table = compared([named(item) for item in options.model], find_sts_sets(options.data).sets, options.paired)
    except HfParaphraseError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    for row in table:
        print("| " + " | ".join(row) + " |")
    return 0


def named(text: str) -> tuple[str, list[str]]:
    """Reads a name and its folders."""
    name, _, folders = text.partition("=")
    if not name or not folders:
        raise UsageError(f"--model {text}: no name, or no folder", remedy="give NAME=DIR")
    return name, folders.split(",")


def compared(models: Sequence[tuple[str, list[str]]], sets: Sequence[GradedSet], paired: bool) -> list[list[str]]:
    """Makes the rows of the table."""
    families: dict[str, list[int]] = {}
    for place, item in enumerate(sets):
        families.setdefault(item.family, []).append(place)
    years = [place for place, item in enumerate(sets) if item.family in _YEARS]
    # The mean of the papers, over single sets.
    families |= {"all years but 2016": years} if len(_YEARS & families.keys()) > 1 else {}
    scored = [
        [score_with_encoder(SentenceEncoder.from_pretrained(folder).encode, sets) for folder in folders]
        for _, folders in models
    ]
    rows = [["encoder", *families], ["---"] * (1 + len(families))]
    cells: list[list[str]] = [[name] for name, _ in models]
    for numbers in families.values():
        gold = [np.asarray(sets[place].scores, np.float64) for place in numbers]
        runs = [run for seeds in scored for run in seeds]
        values = [np.stack([run[place].similarities for run in runs]) for place in numbers]
        exact = np.array([[_pearson(row, scores) for row in each] for each, scores in zip(values, gold, strict=True)])
        means = exact.mean(axis=0)
        drawn = bootstrap_means(values, gold, replicates=_REPLICATES)
        ends = np.cumsum([0, *(len(seeds) for seeds in scored)])
        first = slice(ends[0], ends[1])
        for place, cell in enumerate(cells):
            own = slice(ends[place], ends[place + 1])
            text = f"{means[own].mean():.2f}"
            if place:
                change = difference(
                    _seeds(means[own]), _seeds(means[first]), paired=paired, pairs=(drawn[:, own], drawn[:, first])
                )
                text += f", {change.interval(len(families) * (len(models) - 1)).text(2)}"
            cell.append(text)
    return rows + cells


def _seeds(scores: NDArray[np.float64]) -> dict[int, float] | float:
    """Returns the scores of a system by the numbers of its folders, or that of its only folder."""
    return float(scores[0]) if len(scores) == 1 else dict(enumerate(map(float, scores)))


def _pearson(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    return float(100 * np.corrcoef(first, second)[0, 1])


if __name__ == "__main__":
    sys.exit(main())

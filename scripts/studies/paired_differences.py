"""Compares encoders with a first one, set by set of semantic textual similarity, with paired bootstrap intervals.

    python scripts/studies/paired_differences.py --data STS --model none=DIR captions=DIR,DIR,DIR all=DIR,DIR,DIR

An encoder with several folders, one a seed, counts as their mean; the intervals are over seeds and sentence pairs
together. Prints a table: for each family of sets (STS16, STS12 …) the mean Pearson's r × 100 and the difference from
the first encoder with its 95 % interval.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hf_paraphrase import SentenceEncoder
from hf_paraphrase.errors import HfParaphraseError, UsageError
from hf_paraphrase.evaluation.bootstrap import Interval, bootstrap_means
from hf_paraphrase.evaluation.graded_set import GradedSet, score_with_encoder
from hf_paraphrase.evaluation.sts_files import find_sts_sets

_REPLICATES = 2000


def main() -> int:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, help="the folder of the sets")
    parser.add_argument("--model", nargs="+", required=True, help="NAME=DIR or NAME=DIR,DIR… of each encoder")
    options = parser.parse_args()
    try:
        table = compared([named(item) for item in options.model], find_sts_sets(options.data).sets)
    except HfParaphraseError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    for row in table:
        print("| " + " | ".join(row) + " |")
    return 0


def named(text: str) -> tuple[str, list[str]]:
    """Reads a name and its folders.

    Raises:
        UsageError: If one of them is missing.
    """
    name, _, folders = text.partition("=")
    if not name or not folders:
        raise UsageError(f"--model {text}: no name, or no folder", remedy="give NAME=DIR")
    return name, folders.split(",")


def compared(models: Sequence[tuple[str, list[str]]], sets: Sequence[GradedSet]) -> list[list[str]]:
    """Makes the rows of the table.

    Args:
        models: The name and the folders of each encoder; with the first one all are compared.
        sets: The sets.
    """
    families = list(dict.fromkeys(item.family for item in sets))
    scored = [
        [score_with_encoder(SentenceEncoder.from_pretrained(folder).encode, sets) for folder in folders]
        for _, folders in models
    ]
    rows = [["encoder", *families], ["---"] * (1 + len(families))]
    cells: list[list[str]] = [[name] for name, _ in models]
    for family in families:
        numbers = [place for place, item in enumerate(sets) if item.family == family]
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
                change = _over_seeds(drawn[:, own], 2 * place) - _over_seeds(drawn[:, first], 1)
                text += f", {Interval.of(means[own].mean() - means[first].mean(), change).text(2)}"
            cell.append(text)
    return rows + cells


def _over_seeds(drawn: NDArray[np.float64], seed: int) -> NDArray[np.float64]:
    """Draws seeds anew in each replicate: (replicates, seeds) to their means (replicates,)."""
    count = drawn.shape[1]
    chosen = np.random.default_rng([seed, 7]).integers(count, size=(len(drawn), count))
    return np.take_along_axis(drawn, chosen, axis=1).mean(axis=1)


def _pearson(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    return float(100 * np.corrcoef(first, second)[0, 1])


if __name__ == "__main__":
    sys.exit(main())

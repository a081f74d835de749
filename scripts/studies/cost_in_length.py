"""Adds to scored back-translations how cheap each is among the translations of its length.

    python scripts/studies/cost_in_length.py --pairs DIR --output DIR

The cost of a translation counts the end of the sentence among the probabilities and not among the tokens, which makes
short ones dear, so `cost<=0.8` chooses by length too. The column `cost_in_length` is the share of the pairs with as
many tokens (column `length`) that cost as much or less: `cost_in_length<=0.5` keeps the cheaper half of every length,
and so all lengths as they are.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.stats import rankdata

from hf_paraphrase.artefacts.artefact import Artefact
from hf_paraphrase.data.folder import DataFolder, write_split
from hf_paraphrase.data.schema import with_column
from hf_paraphrase.errors import HfParaphraseError

COLUMN = "cost_in_length"
LONGEST = 40
"""Lengths from here on count as one, because they are rare."""


def main(arguments: list[str] | None = None) -> int:
    """Writes the folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", required=True, help="a data folder with the columns cost and length")
    parser.add_argument("--output", required=True, help="the folder to make")
    options = parser.parse_args(arguments)
    try:
        pairs = DataFolder(options.pairs)
        pairs.require("cost", "length")
        table = pairs.table()
        costs, lengths = (np.asarray(table.column(name), np.float64) for name in ("cost", "length"))
        table = with_column(table, COLUMN, pa.array(shares_in_length(costs, lengths), pa.float64()))
        with Artefact(options.output, command="cost_in_length", settings={}) as artefact:
            write_split(artefact.staging, "train", [table], table.schema)
            artefact.finish()
    except HfParaphraseError as error:
        print(f"cost_in_length: error: {error}", file=sys.stderr)
        return 2
    return 0


def shares_in_length(costs: NDArray[np.float64], lengths: NDArray[np.float64]) -> NDArray[np.float64]:
    """Computes the share of the pairs of each pair's length that cost as much as it or less.

    Args:
        costs: The costs (pairs,).
        lengths: Tokens of the translations (pairs,).

    Returns:
        The shares (pairs,), above 0, 1 for the dearest; NaN where the cost is.
    """
    shares = np.full(len(costs), np.nan)
    bins = np.minimum(lengths, LONGEST)
    there = ~np.isnan(costs)
    for length in np.unique(bins[there]):
        inside = there & (bins == length)
        shares[inside] = rankdata(costs[inside], method="max") / inside.sum()
    return shares


if __name__ == "__main__":
    sys.exit(main())

"""Which rows go where: repeats, parts held out, and the shuffled order, as arrays of row numbers.

Each function needs 8 bytes a row and never the texts themselves, so corpora larger than memory can be split.
"""

from __future__ import annotations

import hashlib

import numpy as np
import pyarrow as pa

_SHUFFLING, _HOLDING_OUT = 1, 2


def text_keys(*columns: pa.Array) -> np.ndarray:
    """Hashes rows of strings to 64 bits.

    Args:
        columns: String arrays of length rows.

    Returns:
        One key a row (rows,), uint64; equal rows have equal keys. Two different rows of n share a key with a chance
        of about n² / 3.7e19, which is 3e-6 for ten million rows.
    """
    blake2b = hashlib.blake2b
    if len(columns) == 1:
        digests = [blake2b(text.encode(), digest_size=8).digest() for text in columns[0].to_pylist()]
    else:
        # The lengths keep ("ab", "c") and ("a", "bc") apart.
        rows = zip(*(column.to_pylist() for column in columns), strict=True)
        digests = [
            blake2b("".join(f"{len(text)}:{text}" for text in row).encode(), digest_size=8).digest() for row in rows
        ]
    return np.frombuffer(b"".join(digests), dtype=np.uint64)


def first_occurrences(keys: np.ndarray) -> np.ndarray:
    """Marks the first row of each key: (rows,), bool."""
    first = np.zeros(len(keys), dtype=bool)
    first[np.unique(keys, return_index=True)[1]] = True
    return first


def hold_out(keys: np.ndarray, size: int, seed: int, candidates: np.ndarray | None = None) -> np.ndarray:
    """Draws rows for a held-out part so that no key is both in it and outside it.

    Args:
        keys: One key a row (rows,); rows of one key go together.
        size: The number of rows wanted.
        seed: Of the draw.
        candidates: Which rows may be drawn (rows,), bool; all by default.

    Returns:
        Which rows are drawn (rows,), bool: `size` of them, or fewer where groups of equal rows do not fit.
    """
    rows = np.arange(len(keys)) if candidates is None else np.flatnonzero(candidates)
    groups, inverse, sizes = np.unique(keys[rows], return_inverse=True, return_counts=True)
    drawn = np.zeros(len(groups), dtype=bool)
    left = size
    for group in np.random.default_rng([seed, _HOLDING_OUT]).permutation(len(groups)):
        if left == 0:
            break
        if sizes[group] <= left:
            drawn[group] = True
            left -= int(sizes[group])
    result = np.zeros(len(keys), dtype=bool)
    result[rows] = drawn[inverse]
    return result


def shuffled(rows: np.ndarray, seed: int) -> np.ndarray:
    """Returns the row numbers in an order that is drawn with `seed`."""
    return np.random.default_rng([seed, _SHUFFLING]).permutation(rows)

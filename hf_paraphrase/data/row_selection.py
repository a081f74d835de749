"""Which rows go where: repeats, parts held out, and the shuffled order, as arrays of row numbers.

Each function needs 8 bytes a row and never the texts themselves, so corpora larger than memory can be split.
"""

from __future__ import annotations

import hashlib

import numpy as np
import pyarrow as pa
from xxhash import xxh3_64_intdigest

from .fingerprints import is_among

_SHUFFLING, _HOLDING_OUT, _SAMPLING = 1, 2, 3


def text_keys(*columns: pa.Array) -> np.ndarray:
    """Hashes rows of strings to 64 bits.

    Returns:
        One key a row (rows,), uint64; equal rows have equal keys. Two different rows of n share a key with a chance
        of about n² / 3.7e19, which is 3e-6 for ten million rows.
    """
    blake2b = hashlib.blake2b
    if len(columns) == 1:
        digests = [blake2b(text.encode(), digest_size=8).digest() for text in columns[0].to_pylist()]
    else:
        # The lengths distinguish ("ab", "c") and ("a", "bc").
        rows = zip(*(column.to_pylist() for column in columns), strict=True)
        digests = [
            blake2b("".join(f"{len(text)}:{text}" for text in row).encode(), digest_size=8).digest() for row in rows
        ]
    return np.frombuffer(b"".join(digests), dtype=np.uint64)


def repeat_keys(*columns: pa.Array) -> np.ndarray:
    """Hashes rows of strings to 64 bits with XXH3, several times faster than :func:`text_keys`.

    The two differ only because draws follow the order of their keys: another hash would draw other rows.

    Returns:
        One key a row (rows,), uint64, with the properties of :func:`text_keys`.
    """
    keys = np.zeros(len(columns[0]), dtype=np.uint64)
    for column in columns:
        # Multiplying by an odd number in between distinguishes ("a", "b") and ("b", "a").
        keys *= np.uint64(0x9E3779B97F4A7C15)
        texts = column.cast(pa.binary()).to_numpy(zero_copy_only=False)
        keys ^= np.fromiter(map(xxh3_64_intdigest, texts), dtype=np.uint64, count=len(texts))
    return keys


def first_occurrences(keys: np.ndarray) -> np.ndarray:
    """Marks the first row of each key: (rows,), bool; takes 25 bytes a row for the time of the call."""
    first = np.zeros(len(keys), dtype=bool)
    # A stable sort puts the first row of a key before its repeats.
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    new = np.concatenate([np.ones(min(1, len(keys)), dtype=bool), ordered[1:] != ordered[:-1]])
    del ordered
    first[order[new]] = True
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
    # What `numpy.unique` would give, with a third of its memory: groups are runs of equal keys in sorted order.
    ordered = np.sort(keys if candidates is None else keys[candidates])
    starts = np.flatnonzero(np.concatenate([np.ones(min(1, len(ordered)), dtype=bool), ordered[1:] != ordered[:-1]]))
    drawn: list[np.uint64] = []
    left = size
    for group in np.random.default_rng([seed, _HOLDING_OUT]).permutation(len(starts)):
        if left == 0:
            break
        end = starts[group + 1] if group + 1 < len(starts) else len(ordered)
        number = int(end - starts[group])
        if number <= left:
            drawn.append(ordered[starts[group]])
            left -= number
    result = is_among(keys, np.sort(np.array(drawn, dtype=keys.dtype)))
    return result if candidates is None else result & candidates


def sample(candidates: np.ndarray, size: int, seed: int) -> np.ndarray:
    """Draws so many of the candidates, or all where there are fewer.

    Args:
        candidates: Which rows may be drawn (rows,), bool.
        size: The number of rows wanted.
        seed: Of the draw.

    Returns:
        Which rows are drawn (rows,), bool.
    """
    rows = np.flatnonzero(candidates)
    if size >= len(rows):
        return candidates.copy()
    drawn = np.zeros_like(candidates)
    drawn[rows[np.random.default_rng([seed, _SAMPLING]).choice(len(rows), size, replace=False)]] = True
    return drawn


def shuffled(rows: np.ndarray, seed: int) -> np.ndarray:
    """Returns the row numbers in an order that is drawn with `seed`."""
    return np.random.default_rng([seed, _SHUFFLING]).permutation(rows)

"""Hashes of texts: 64 bits to recognize equal texts and to draw rows at random, 128 bits for keys of caches.

Two of n different texts share a 64-bit hash with a probability of about n² / 2⁶⁵: 3e-8 for a million, 3 % for a
billion. Draws follow the order of BLAKE2b hashes, which must not change: a seed draws the same rows in every version.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pyarrow as pa

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


def hash64(texts: Iterable[str | bytes | memoryview], seed: int = 0) -> NDArray[np.uint64]:
    """Hash strings, as UTF-8, or bytes with XXH3: (texts,), uint64."""
    from xxhash import xxh3_64_intdigest

    encoded = (text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text for text in texts)
    return np.fromiter((xxh3_64_intdigest(data, seed) for data in encoded), dtype=np.uint64)


def hash_rows(*columns: pa.Array) -> NDArray[np.uint64]:
    """Hash rows of strings with XXH3 to recognize equal rows: (rows,), uint64."""
    import pyarrow as pa

    keys = np.zeros(len(columns[0]), dtype=np.uint64)
    for column in columns:
        # Multiplication by an odd number distinguishes ("a", "b") and ("b", "a").
        keys *= _MULTIPLIER
        keys ^= hash64(column.cast(pa.binary()).to_numpy(zero_copy_only=False))
    return keys


def draw_keys(*columns: pa.Array, seed: int | None = None) -> NDArray[np.uint64]:
    """Hash rows of strings with BLAKE2b to numbers that determine the order of a draw: (rows,), uint64."""
    texts = columns[0].to_pylist()
    if len(columns) > 1:
        # The lengths distinguish ("ab", "c") and ("a", "bc").
        rows = zip(*(column.to_pylist() for column in columns), strict=True)
        texts = ["".join(f"{len(text)}:{text}" for text in row) for row in rows]
    key = b"" if seed is None else seed.to_bytes(8, "little")
    digests = [hashlib.blake2b(text.encode(), digest_size=8, key=key).digest() for text in texts]
    return np.frombuffer(b"".join(digests), dtype="<u8")


def hash128(text: str) -> str:
    """Hash a text with BLAKE2b to 32 hexadecimal digits, for keys of caches."""
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def are_among(values: NDArray[np.generic], ascending: NDArray[np.generic]) -> NDArray[np.bool_]:
    """Return which values (n,) are in a sorted array; faster than `np.isin`, which sorts again."""
    if not len(ascending):
        return np.zeros(len(values), dtype=np.bool_)
    return np.take(ascending, np.searchsorted(ascending, values), mode="clip") == values

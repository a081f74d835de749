"""The binary format that KenLM maps into memory, with hash tables ("probing", format version 5).

Written from the description of the data structure (Heafield 2011, section 3.1) and the layout that KenLM reads: a
header with test values, a hash table from words to numbers, the words' weights, one hash table an order, the words.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path

import numpy as np

from ...errors import OutputError
from .counts import WORD_BITS, WORD_MASK
from .kneser_ney import Estimate

_MAGIC = b"mmap lm http://kheafield.com/code format version 5\n\0\0"
_TABLE_SIZE = 1.5
"""Places of a hash table for each of its entries."""
_LENGTH_FACTOR, _WORD_FACTOR = np.uint64(8978948897894561157), np.uint64(17894857484156487943)
_MURMUR = 0xC6A4A7935BD1E995
_64_BITS = (1 << 64) - 1
_WORD = np.dtype([("key", "<u8"), ("number", "<u4")])
_MIDDLE = np.dtype([("key", "<u8"), ("probability", "<f4"), ("backoff", "<f4")])
_LONGEST = np.dtype([("key", "<u8"), ("probability", "<f4")])
_UNIGRAM = np.dtype([("probability", "<f4"), ("backoff", "<f4")])


def write_kenlm_binary(path: str | os.PathLike[str], estimate: Estimate) -> None:
    """Writes a model in KenLM's binary format, which the package `kenlm` opens at once.

    Args:
        path: The file.
        estimate: The model; `<unk>` is its first word.

    Raises:
        OutputError: If the file cannot be written.
    """
    order = len(estimate.keys)
    head = _MAGIC.ljust(-(-len(_MAGIC) // 8) * 8, b"\0")
    head += struct.pack("<fffIIIQ", 0.0, 1.0, -0.5, 1, 0xFFFFFFFF, 0, 1)
    head += struct.pack("<B3xfIB3xI", order, _TABLE_SIZE, 0, 1, 0)
    head += struct.pack(f"<{order}Q", *map(len, estimate.keys))
    head = head.ljust(-(-len(head) // 8) * 8, b"\0")
    encoded = [word.encode("utf-8", "surrogatepass") for word in estimate.words]
    words = np.zeros(len(encoded) - 1, dtype=_WORD)
    words["key"] = [murmur_hash(word) for word in encoded[1:]]
    words["number"] = np.arange(1, len(encoded))
    unigrams = np.zeros(len(encoded) + 1, dtype=_UNIGRAM)
    unigrams["probability"][:-1], unigrams["backoff"][:-1] = _weights(estimate, 1)
    parts = [
        head,
        struct.pack("<II", 0, len(encoded)),
        _hash_table(words, len(encoded)).tobytes(),
        unigrams.tobytes(),
    ]
    for length in range(2, order + 1):
        entries = np.zeros(len(estimate.keys[length - 1]), dtype=_MIDDLE if length < order else _LONGEST)
        entries["key"] = _ngram_keys(estimate.keys[length - 1], length)
        probabilities, backoffs = _weights(estimate, length)
        entries["probability"] = probabilities
        if length < order:
            entries["backoff"] = backoffs
        parts.append(_hash_table(entries, len(entries)).tobytes())
    parts.append(b"".join(word + b"\0" for word in encoded))
    try:
        with Path(path).open("wb") as file:
            file.writelines(parts)
    except OSError as error:
        raise OutputError(f"cannot write: {error.strerror}", path=path) from error


def murmur_hash(word: bytes) -> int:
    """Computes MurmurHash64A with seed 0 (Appleby, public domain), by which KenLM finds words."""
    value = len(word) * _MURMUR & _64_BITS
    whole = len(word) // 8 * 8
    for (part,) in struct.iter_unpack("<Q", word[:whole]):
        part = part * _MURMUR & _64_BITS
        part = (part ^ part >> 47) * _MURMUR & _64_BITS
        value = (value ^ part) * _MURMUR & _64_BITS
    if len(word) > whole:
        value = (value ^ int.from_bytes(word[whole:], "little")) * _MURMUR & _64_BITS
    value = (value ^ value >> 47) * _MURMUR & _64_BITS
    return value ^ value >> 47


def _weights(estimate: Estimate, length: int) -> tuple[np.ndarray, np.ndarray]:
    """The logarithms to base 10 with KenLM's marks in their signs: float32 (n-grams,) both.

    A probability is positive if a longer n-gram ends in this one. A backoff of zero is positive if a longer n-gram
    begins with this one.
    """
    keys = estimate.keys[length - 1]
    probabilities = -np.abs(np.log10(estimate.probabilities[length - 1])).astype(np.float32)
    if length == len(estimate.keys):
        return probabilities, np.zeros(0, dtype=np.float32)
    longer = estimate.keys[length]
    ends = np.isin(keys, longer & ((1 << length * WORD_BITS) - 1))
    begins = np.isin(keys, longer >> WORD_BITS)
    backoffs = np.log10(estimate.backoffs[length - 1]).astype(np.float32)
    backoffs[backoffs == 0] = np.where(begins[backoffs == 0], np.float32(0.0), np.float32(-0.0))
    return np.where(ends, np.abs(probabilities), np.copysign(probabilities, np.float32(-1))), backoffs


def _ngram_keys(keys: np.ndarray, length: int) -> np.ndarray:
    """Combines the words of n-grams, the last one first, into the keys of KenLM: uint64 (n-grams,)."""
    combined = (keys & WORD_MASK).astype(np.uint64)
    for place in range(1, length):
        word = (keys >> WORD_BITS * place & WORD_MASK).astype(np.uint64)
        combined = combined * _LENGTH_FACTOR ^ (word + np.uint64(1)) * _WORD_FACTOR
    return combined


def _hash_table(entries: np.ndarray, announced: int) -> np.ndarray:
    """Lays entries out by their keys with linear probing; a key of 0 is an empty place.

    Args:
        entries: The entries, with distinct keys.
        announced: The number of entries from which a reader computes the size of the table.
    """
    size = max(announced + 1, int(np.float32(_TABLE_SIZE) * np.float32(announced)))
    wanted = (entries["key"] % np.uint64(size)).astype(np.int64)
    order = np.argsort(wanted, kind="stable")
    count = np.arange(len(entries))
    # Each entry takes the place it wants, or the one after its predecessor's.
    places = np.maximum.accumulate(wanted[order] - count) + count
    table = np.zeros(size, dtype=entries.dtype)
    inside = places < size
    table[places[inside]] = entries[order[inside]]
    # What does not fit before the end goes on at the beginning.
    free = np.flatnonzero(table["key"] == 0)[: int((~inside).sum())]
    table[free] = entries[order[~inside]]
    return table

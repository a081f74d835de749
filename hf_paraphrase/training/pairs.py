"""Paraphrase pairs as token ids in memory: tokenised once, before training, into flat arrays."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..data.parquet import count_rows, iterate_batches
from ..encoding.token_lookup import ids_of, lookup_for
from ..errors import InputError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

_COLUMNS = ("sentence1", "sentence2")


@dataclass
class EncodedPairs:
    """Token ids of paraphrase pairs.

    Sentence `side` (0 or 1) of pair i is row 2 * i + side.

    Attributes:
        tokens: The ids of all sentences laid end to end (total,), int32.
        offsets: Where each row begins, and the end (2 * pairs + 1,), int64.
        keys: A number for each row (2 * pairs,), int64, equal exactly where the token sequences are equal.
        dropped: How many pairs were left out because a side had no tokens.
    """

    tokens: NDArray[np.int32]
    offsets: NDArray[np.int64]
    keys: NDArray[np.int64]
    dropped: int = 0

    def __len__(self) -> int:
        return len(self.keys) // 2

    def counts(self, vocabulary_size: int) -> NDArray[np.int64]:
        """Counts how often each id occurs (vocabulary,)."""
        return np.bincount(self.tokens, minlength=vocabulary_size).astype(np.int64)


def iterate_pairs(
    folder: str | os.PathLike[str], *, max_pairs: int | None = None, seed: int = 0, split: str = "train"
) -> Iterator[tuple[list[str], list[str]]]:
    """Streams the two sides of a data folder's pairs, a block at a time.

    Args:
        folder: A data folder with the columns `sentence1` and `sentence2`.
        max_pairs: Take a random sample of so many pairs, in the order of the folder; None for all.
        seed: Seed of the sample.
        split: The split to read.

    Yields:
        Two lists of equal length; a missing value is an empty text.

    Raises:
        InputError: If the folder, the split or a column is missing.
    """
    rows = count_rows(folder, split)
    chosen = None
    if max_pairs is not None and max_pairs < rows:
        chosen = np.zeros(rows, bool)
        chosen[np.random.default_rng(seed).choice(rows, max_pairs, replace=False)] = True
    start = 0
    for batch in iterate_batches(folder, split, list(_COLUMNS)):
        sides = [[text or "" for text in batch.column(name).to_pylist()] for name in _COLUMNS]
        if chosen is not None:
            kept = np.flatnonzero(chosen[start : start + batch.num_rows])
            sides = [[side[row] for row in kept] for side in sides]
        start += batch.num_rows
        yield sides[0], sides[1]


def encode_pairs(
    folder: str | os.PathLike[str],
    tokenizer: PreTrainedTokenizerFast,
    *,
    max_pairs: int | None = None,
    seed: int = 0,
    split: str = "train",
) -> EncodedPairs:
    """Tokenises the pairs of a data folder; a pair with a side that has no tokens is left out and counted.

    Args:
        folder: A data folder with the columns `sentence1` and `sentence2`.
        tokenizer: A fast tokenizer.
        max_pairs: As for :func:`iterate_pairs`.
        seed: As for :func:`iterate_pairs`.
        split: The split to read.

    Raises:
        InputError: If something is missing, or no pair is left.
    """
    backend = tokenizer.backend_tokenizer
    lookup = lookup_for(backend)
    tokens: list[NDArray[np.int32]] = []
    lengths: list[NDArray[np.int64]] = []
    keys: list[int] = []
    known: dict[bytes, int] = {}
    dropped = 0
    for first, second in iterate_pairs(folder, max_pairs=max_pairs, seed=seed, split=split):
        encoded = [ids_of(backend, side, lookup) for side in (first, second)]
        rows = [np.split(side.ids.astype(np.int32), side.offsets[1:-1]) for side in encoded]
        for ids in zip(*rows, strict=True):
            if min(map(len, ids)) == 0:
                dropped += 1
                continue
            for row in ids:
                tokens.append(row)
                # A digest, so that the table of what was seen does not hold the corpus a second time.
                digest = hashlib.blake2b(row.tobytes(), digest_size=16).digest()
                keys.append(known.setdefault(digest, len(known)))
            lengths.append(np.array([len(row) for row in ids], np.int64))
    if not keys:
        raise InputError(
            "no usable pairs: every pair has an empty side" if dropped else "the data set has no pairs",
            path=folder,
            remedy="give pairs of sentences in sentence1 and sentence2",
        )
    offsets = np.concatenate([np.zeros(1, np.int64), np.concatenate(lengths).cumsum()])
    return EncodedPairs(np.concatenate(tokens), offsets, np.array(keys, np.int64), dropped)

"""Pairs as token ids of which training takes one subset after the other."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from transformers import PreTrainedTokenizerFast

from ..encoding.reference_classification import token_arrays
from .pairs import EncodedPairs


class PairPool:
    """All pairs of a data set, tokenised once.

    Args:
        sentences1: The first sentence of every row.
        sentences2: The second sentence of every row.
        tokenizer: A fast tokenizer.
    """

    def __init__(
        self, sentences1: Sequence[str], sentences2: Sequence[str], tokenizer: PreTrainedTokenizerFast
    ) -> None:
        self._sides = [token_arrays(tokenizer, side) for side in (sentences1, sentences2)]
        lengths = [np.diff(offsets) for _, offsets in self._sides]
        self._usable = (lengths[0] > 0) & (lengths[1] > 0)
        self._keys = [
            np.array(
                [
                    int.from_bytes(
                        hashlib.blake2b(tokens[offsets[row] : offsets[row + 1]].tobytes(), digest_size=8).digest(),
                        "little",
                        signed=True,
                    )
                    for row in range(len(offsets) - 1)
                ],
                np.int64,
            )
            for tokens, offsets in self._sides
        ]

    def subset(self, rows: NDArray[np.int64]) -> EncodedPairs:
        """Returns the pairs of some rows, as :func:`~.pairs.encode_pairs` gives them for a folder of those rows.

        Args:
            rows: The numbers of the rows, in the order of the pairs. Rows with a side without tokens are left out.
        """
        usable = rows[self._usable[rows]]
        pieces: list[NDArray[np.int32]] = []
        lengths = np.empty(2 * len(usable), np.int64)
        keys = np.empty(2 * len(usable), np.int64)
        for side, (_, offsets) in enumerate(self._sides):
            lengths[side::2] = offsets[usable + 1] - offsets[usable]
            keys[side::2] = self._keys[side][usable]
        for row in usable:
            for tokens, offsets in self._sides:
                pieces.append(tokens[offsets[row] : offsets[row + 1]])
        tokens = np.concatenate(pieces) if pieces else np.empty(0, np.int32)
        ends = np.concatenate([np.zeros(1, np.int64), lengths.cumsum()])
        return EncodedPairs(tokens, ends, keys, None, dropped=len(rows) - len(usable))

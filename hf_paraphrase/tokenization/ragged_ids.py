"""The token ids of many texts in one array."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

_TOKENS_PER_COUNT = 1 << 22


class TokenIds(NamedTuple):
    """The concatenated token ids of several texts: text i has the ids from `offsets[i]` up to `offsets[i + 1]`."""

    ids: NDArray[np.int64]
    offsets: NDArray[np.int64]

    @classmethod
    def of_lists(cls, lists: Sequence[Collection[int]]) -> TokenIds:
        """Concatenate lists of ids."""
        offsets = ends_of(np.fromiter(map(len, lists), np.int64, len(lists)))
        return cls(np.fromiter(chain.from_iterable(lists), np.int64, int(offsets[-1])), offsets)

    @classmethod
    def joined(cls, blocks: Iterable[TokenIds]) -> TokenIds:
        """Concatenate the texts of several blocks."""
        parts = list(blocks)
        lengths = [np.zeros(1, np.int64), *(part.lengths for part in parts)]
        ids = np.concatenate([np.zeros(0, np.int64), *(part.ids for part in parts)])
        return cls(ids, np.concatenate(lengths).cumsum())

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The number of tokens of each text, int64 (texts,)."""
        return np.diff(self.offsets)

    def part(self, first: int, last: int) -> TokenIds:
        """Return the texts from `first` up to `last`, or to the end if there are fewer."""
        if first == 0 and last >= len(self.offsets) - 1:
            return self
        offsets = self.offsets[first : last + 1]
        return TokenIds(self.ids[offsets[0] : offsets[-1]], offsets - offsets[0])

    def of_texts(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the ids (tokens of these texts,) of some texts in the order of `rows` (rows,)."""
        first = self.offsets[rows]
        return self.ids[ranges(first, self.offsets[rows + 1] - first)]

    def take(self, rows: NDArray[np.int64]) -> TokenIds:
        """Return some texts in the order of `rows` (rows,)."""
        lengths = self.offsets[rows + 1] - self.offsets[rows]
        return TokenIds(self.of_texts(rows), ends_of(lengths))

    def padded(self, rows: NDArray[np.int64], pad_token_id: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Pad some texts on the right; return their ids and the mask of their tokens, both (rows, length >= 1)."""
        lengths = self.offsets[rows + 1] - self.offsets[rows]
        mask = np.arange(max(1, int(lengths.max(initial=0)))) < lengths[:, None]
        ids = np.full(mask.shape, pad_token_id, np.int64)
        ids[mask] = self.of_texts(rows)
        return ids, mask

    def counts(self, vocab_size: int) -> NDArray[np.int64]:
        """Count each id (vocabulary,); memory stays small even if the ids are on disk."""
        total = np.zeros(vocab_size, np.int64)
        for start in range(0, len(self.ids), _TOKENS_PER_COUNT):
            total += np.bincount(self.ids[start : start + _TOKENS_PER_COUNT], minlength=vocab_size)
        return total

    def interleaved(self, other: TokenIds, offset: int) -> TokenIds:
        """Append to each text the ids of the text at the same position of another block, increased by `offset`."""
        texts = len(self.offsets) - 1
        both = TokenIds.joined([self, TokenIds(other.ids + offset, other.offsets)])
        ids, offsets = both.take(np.arange(2 * texts).reshape(2, texts).T.ravel())
        return TokenIds(ids, offsets[::2])

    def merged(self, others: TokenIds, rows: NDArray[np.bool_]) -> TokenIds:
        """Insert other texts; `rows` (texts of both,) is True where a text of `others` goes."""
        order = np.empty(len(rows), np.int64)
        order[~rows] = np.arange(len(self.offsets) - 1)
        order[rows] = len(self.offsets) - 1 + np.arange(len(others.offsets) - 1)
        return TokenIds.joined([self, others]).take(order)


def library_ids(tokenizer: Any, texts: Sequence[str], *, special_tokens: bool = False) -> list[list[int]]:
    """Compute the ids of texts with `tokenizers`, without padding or truncation."""
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return [encoding.ids for encoding in tokenizer.encode_batch_fast(list(texts), add_special_tokens=special_tokens)]


def pad_lists(lists: Sequence[Collection[int]], pad_token_id: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Pad lists of ids on the right; return the ids and the mask of those in the lists, both (lists, length >= 1)."""
    return TokenIds.of_lists(lists).padded(np.arange(len(lists)), pad_token_id)


def ends_of(lengths: NDArray[np.integer | np.bool_]) -> NDArray[np.int64]:
    """Compute from the lengths of concatenated parts the start of each part, and the end of the last (parts + 1,)."""
    return np.concatenate([np.zeros(1, np.int64), lengths.cumsum(dtype=np.int64)])


def ranges(first: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Concatenate the ranges first[i], …, first[i] + lengths[i] - 1 for every i."""
    begins = ends_of(lengths)
    return np.arange(begins[-1]) + np.repeat(first - begins[:-1], lengths)

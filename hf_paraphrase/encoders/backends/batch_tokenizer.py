"""Computes the token ids of many texts, by array operations in several threads if the tokenizer allows it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from itertools import pairwise
from typing import Any

import numpy as np

from ...threads import available_threads, in_threads
from ...tokenization.fast_tokenize import Lookup, ids_of, lookup_for, state_of
from ...tokenization.ragged_ids import TokenIds, ends_of

CHARACTERS_PER_BLOCK = 1 << 20
"""Maximum number of characters per block; a longer text is a block of its own."""
CHARACTERS_PER_THREAD = 1 << 15
"""Number of characters above which another thread pays off."""


@dataclass(frozen=True)
class InputProcessing:
    """The steps before the tokenizer, on token ids, and on embeddings after the model.

    Attributes:
        max_tokens: Maximum number of tokens per text, special tokens included; None for no limit.
        max_characters: Maximum number of characters per text, applied first; None for no limit.
        lower_case: Lower-case texts.
        normalize: Scale embeddings to length 1.
        truncate_first: Truncate embeddings to `truncate_dim` before they are normalized, not afterwards.
        blank_is_empty: Treat a text of invisible characters as empty.
    """

    max_tokens: int | None = None
    max_characters: int | None = None
    lower_case: bool = False
    normalize: bool = False
    truncate_first: bool = False
    blank_is_empty: bool = True

    def changed(self, **options: Any) -> InputProcessing:
        """Return a copy with other options."""
        return dataclasses.replace(self, **options)

    def truncate_ids(self, token_ids: TokenIds, num_final_special: int) -> TokenIds:
        """Remove the tokens after the maximum number, except the special tokens at the end of a text."""
        lengths = token_ids.lengths
        if self.max_tokens is None or lengths.max(initial=0) <= self.max_tokens:
            return token_ids
        tail = min(num_final_special, self.max_tokens)
        position = np.arange(len(token_ids.ids)) - np.repeat(token_ids.offsets[:-1], lengths)
        total = np.repeat(lengths, lengths)
        is_kept = (total <= self.max_tokens) | (position < self.max_tokens - tail) | (position >= total - tail)
        return TokenIds(token_ids.ids[is_kept], ends_of(np.minimum(lengths, self.max_tokens)))


def special_tokens_mask(rust_tokenizer: Any) -> list[int]:
    """Mark the special tokens that the tokenizer adds to a short text."""
    if getattr(rust_tokenizer, "post_processor", None) is None:
        return [0]
    rust_tokenizer.no_padding()
    rust_tokenizer.no_truncation()
    mask: list[int] = rust_tokenizer.encode("a", add_special_tokens=True).special_tokens_mask
    return mask


def count_final_special(rust_tokenizer: Any) -> int:
    """Count the special tokens that a tokenizer adds after a text."""
    mask = special_tokens_mask(rust_tokenizer)
    return mask[::-1].index(0) if 0 in mask else 0


class BatchTokenizer:
    """Computes the token ids of texts, special tokens included, without padding.

    Each call takes the tokenizer, because the tokenizer of an encoder can be replaced and can grow.

    Attributes:
        num_truncated: Number of texts so far that had too many tokens.
        has_warned: Whether the user was warned of truncation.
    """

    def __init__(self, processing: InputProcessing) -> None:
        self.processing = processing
        self.num_truncated = 0
        self.has_warned = False
        self._state: object = None
        self._num_final_special = 0
        self._lookup: Callable[[], Lookup | None] = lambda: None

    def __getstate__(self) -> dict[str, Any]:
        # A lookup has a lock, which cannot be pickled, and is cheap to make again.
        return {**self.__dict__, "_state": None, "_lookup": None}

    def split_into_blocks(self, backend: Any, texts: list[str]) -> tuple[Callable[[slice], TokenIds], list[slice]]:
        """Return the function that tokenizes a block of texts, and the blocks."""
        characters = sum(map(len, texts))
        self._read_state_of(backend)
        lookup = self._lookup() if characters else None

        def tokenize(rows: slice) -> TokenIds:
            processing, block = self.processing, texts[rows]
            if processing.lower_case:
                block = [text.lower() for text in block]
            if processing.max_characters is not None:
                block = [text[: processing.max_characters] for text in block]
            token_ids = ids_of(backend, block, lookup, special_tokens=True)
            truncated = processing.truncate_ids(token_ids, self._num_final_special)
            if truncated is not token_ids:
                self.num_truncated += int(np.count_nonzero(token_ids.lengths > truncated.lengths))
            return truncated

        if lookup is None or characters <= min(CHARACTERS_PER_THREAD, CHARACTERS_PER_BLOCK):
            # The library uses its own threads.
            return tokenize, [slice(0, len(texts))]
        # Every thread gets the same number of blocks, so that all finish together.
        threads = available_threads()
        rounds = -(-characters // (threads * CHARACTERS_PER_BLOCK))
        size = max(-(-characters // (threads * rounds)), CHARACTERS_PER_THREAD)
        ends = np.fromiter(map(len, texts), np.int64, len(texts)).cumsum()
        borders = np.searchsorted(ends, np.arange(size, characters, size), side="left") + 1
        return tokenize, [slice(*pair) for pair in pairwise(sorted({0, *borders.tolist(), len(texts)}))]

    def tokenize(self, backend: Any, texts: list[str]) -> Iterator[TokenIds]:
        """Compute the token ids of all texts, block by block in their order."""
        yield from in_threads(*self.split_into_blocks(backend, texts), available_threads())

    def _read_state_of(self, backend: Any) -> None:
        """Count the final special tokens and prepare the lookup if the tokenizer is new or has changed."""
        state = (id(backend), state_of(backend))
        if self._state != state:
            self._state = state
            self._num_final_special = count_final_special(backend)
            # Made when the first text needs it, and None if the tokenizer itself must compute the ids.
            self._lookup = cache(partial(lookup_for, backend, special_tokens=True))

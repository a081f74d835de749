"""The token ids of the texts of an encoder, by array operations on several threads where its tokenizer allows it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data.same_text import is_blank
from ..tokenization.token_ids import TokenIds
from ..tokenization.token_lookup import Lookup, list_of_texts, lookup_for, state_of
from ..training.threads import available_threads, in_threads

CHARACTERS_PER_BLOCK = 1 << 20
"""Characters that are tokenised at a time at most (a single longer text is a block of its own)."""
CHARACTERS_OF_A_THREAD = 1 << 15
"""Characters from which on it pays to let another thread tokenise some of them."""


@dataclass(frozen=True)
class Reading:
    """What a model does with texts before its tokenizer, and with ids and embeddings after it.

    Attributes:
        most_tokens: The tokens of a text that are read, special ones among them; None for all.
        most_characters: Its characters that are read; None for all.
        from_end: Whether the last tokens are read, and not the first.
        first_special: How many special tokens stand before a text, and stay when it is truncated.
        last_special: How many stand behind it.
        lower_case: Whether texts are lower-cased.
        normalizes: Whether embeddings always have the length 1.
        blank_is_empty: Whether a text of invisible characters is an empty one.
    """

    most_tokens: int | None = None
    most_characters: int | None = None
    from_end: bool = False
    first_special: int = 0
    last_special: int = 0
    lower_case: bool = False
    normalizes: bool = False
    blank_is_empty: bool = True

    def texts(self, texts: list[str]) -> list[str]:
        """Lower-cases texts where the model does, and cuts off those that are longer than what is read of them."""
        if self.lower_case:
            texts = [text.lower() for text in texts]
        most = self.most_characters
        if most is None or all(len(text) <= most for text in texts):
            return texts
        return [text[:most] for text in texts]

    def ids(self, whole: TokenIds) -> TokenIds:
        """Leaves out tokens that are not read."""
        lengths = whole.lengths
        if self.most_tokens is None or lengths.max(initial=0) <= self.most_tokens:
            return whole
        head, tail = self._kept_ends(self.most_tokens)
        position = np.arange(len(whole.ids)) - np.repeat(whole.offsets[:-1], lengths)
        total = np.repeat(lengths, lengths)
        kept = (total <= self.most_tokens) | (position < head) | (position >= total - tail)
        offsets = np.concatenate([[0], np.minimum(lengths, self.most_tokens).cumsum()])
        return TokenIds(whole.ids[kept], offsets)

    def _kept_ends(self, most: int) -> tuple[int, int]:
        """Returns how many tokens at the start and at the end of a longer text stay."""
        if self.from_end:
            head = min(self.first_special, most)
            return head, most - head
        tail = min(self.last_special, most)
        return most - tail, tail


class TextTokens:
    """Computes the token ids of texts, special tokens among them, without padding.

    Each call is given the tokenizer, of the `tokenizers` library or several that act as one, since that of an encoder
    can be replaced, and grow.

    Attributes:
        reading: What else is done with the texts and their tokens.
        truncated: How many texts had more tokens than are read.
    """

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self.truncated = 0
        self._state: object = None
        self._lookup: Callable[[], Lookup | None] | None = None

    def __getstate__(self) -> dict[str, Any]:
        # A lookup holds a lock, and is soon made again.
        return {**self.__dict__, "_state": None, "_lookup": None}

    def prepared(self, texts: Any, prompt: str = "") -> list[str]:
        """Makes a list of one text or several, each with a prompt before it; refuses what is no text."""
        listed = list_of_texts(texts)
        if self.reading.blank_is_empty:
            blank = [row for row, text in enumerate(listed) if not text.isascii() and is_blank(text)]
            for row in blank:
                listed[row] = ""
        return [prompt + text for text in listed] if prompt else listed

    def in_blocks(self, backend: Any, texts: list[str]) -> tuple[Callable[[slice], TokenIds], list[slice]]:
        """Chooses the way to tokenise some texts, a block of them at a time, and the blocks."""
        characters = sum(map(len, texts))
        lookup = self._lookup_of(backend) if characters else None
        if lookup is None:
            # The library has threads of its own.
            return lambda rows: self._read(self._by_the_library(backend, texts[rows])), [slice(0, len(texts))]
        blocks = [slice(0, len(texts))]
        if characters > min(CHARACTERS_OF_A_THREAD, CHARACTERS_PER_BLOCK):
            # As many blocks for every thread, so that none waits while another works on an odd one.
            threads = available_threads()
            rounds = -(-characters // (threads * CHARACTERS_PER_BLOCK))
            size = max(-(-characters // (threads * rounds)), CHARACTERS_OF_A_THREAD)
            ends = np.fromiter(map(len, texts), np.int64, len(texts)).cumsum()
            borders = np.searchsorted(ends, np.arange(size, characters, size), side="left") + 1
            blocks = [slice(*pair) for pair in pairwise(sorted({0, *borders.tolist(), len(texts)}))]
        return lambda rows: self._read(lookup(self.reading.texts(texts[rows]))), blocks

    def blocks(self, backend: Any, texts: list[str]) -> Iterator[TokenIds]:
        """Computes the ids of all texts, block by block in their order."""
        yield from in_threads(*self.in_blocks(backend, texts), available_threads())

    def _by_the_library(self, backend: Any, texts: list[str]) -> TokenIds:
        backend.no_padding()
        backend.no_truncation()
        encoded = backend.encode_batch_fast(self.reading.texts(texts), add_special_tokens=True)
        return TokenIds.of_lists([item.ids for item in encoded])

    def _read(self, whole: TokenIds) -> TokenIds:
        kept = self.reading.ids(whole)
        if kept is not whole:
            self.truncated += int(np.count_nonzero(whole.lengths > kept.lengths))
        return kept

    def _lookup_of(self, backend: Any) -> Lookup | None:
        """Returns the lookup of the tokenizer as it is now, or None if it must do the work itself."""
        state = (id(backend), state_of(backend))
        if self._lookup is None or self._state != state:
            self._state = state
            self._lookup = cache(partial(lookup_for, backend, special_tokens=True))
        return self._lookup()


def special_counts(backend: Any) -> tuple[int, int]:
    """Counts the special tokens that a tokenizer puts before and behind a text."""
    backend.no_padding()
    backend.no_truncation()
    special: NDArray[np.bool_] = np.array(backend.encode("a", add_special_tokens=True).special_tokens_mask, bool)
    inner = np.flatnonzero(~special)
    return (int(inner[0]), int(len(special) - 1 - inner[-1])) if len(inner) else (len(special), 0)

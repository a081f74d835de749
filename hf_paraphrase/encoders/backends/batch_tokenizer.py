"""The token ids of the texts of an encoder, by array operations on several threads where its tokenizer allows it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from itertools import pairwise
from typing import Any

import numpy as np

from ...text.normalization import is_blank
from ...threads import available_threads, in_threads
from ...tokenization.fast_tokenize import Lookup, ids_of, list_of_texts, lookup_for, state_of
from ...tokenization.ragged_ids import TokenIds, ends_of

CHARACTERS_PER_BLOCK = 1 << 20
"""Characters that are tokenised at a time at most (a single longer text is a block of its own)."""
CHARACTERS_OF_A_THREAD = 1 << 15
"""Characters from which on it pays to let another thread tokenise some of them."""


@dataclass(frozen=True)
class InputProcessing:
    """What a model does with texts before its tokenizer, and with ids and embeddings after it.

    Of a text `most_tokens` tokens, special ones among them, are read, and `most_characters` characters (None: all); of
    a truncated one the `last_special` tokens at its end stay. `normalizes`: embeddings have the length 1 before they
    are cut to fewer components, or with `cuts_first` after it. `blank_is_empty`: a text of invisible characters is
    an empty one.
    """

    most_tokens: int | None = None
    most_characters: int | None = None
    last_special: int = 0
    lower_case: bool = False
    normalizes: bool = False
    cuts_first: bool = False
    blank_is_empty: bool = True

    def texts(self, texts: list[str]) -> list[str]:
        """Lower-cases texts where the model does, and cuts off those that are longer than what is read of them."""
        if self.lower_case:
            texts = [text.lower() for text in texts]
        return texts if self.most_characters is None else [text[: self.most_characters] for text in texts]

    def ids(self, whole: TokenIds) -> TokenIds:
        """Leaves out tokens that are not read."""
        lengths = whole.lengths
        if self.most_tokens is None or lengths.max(initial=0) <= self.most_tokens:
            return whole
        tail = min(self.last_special, self.most_tokens)
        position = np.arange(len(whole.ids)) - np.repeat(whole.offsets[:-1], lengths)
        total = np.repeat(lengths, lengths)
        kept = (total <= self.most_tokens) | (position < self.most_tokens - tail) | (position >= total - tail)
        return TokenIds(whole.ids[kept], ends_of(np.minimum(lengths, self.most_tokens)))


class BatchTokenizer:
    """Computes the token ids of texts, special tokens among them, without padding.

    Each call is given the tokenizer, of the `tokenizers` library or several that act as one, since that of an encoder
    can be replaced, and grow. `truncated` counts the texts that had more tokens than are read, which `is_logged` once.
    """

    def __init__(self, reading: InputProcessing) -> None:
        self.reading = reading
        self.truncated = 0
        self.is_logged = False
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

        def tokenize(rows: slice) -> TokenIds:
            whole = ids_of(backend, self.reading.texts(texts[rows]), lookup, special_tokens=True)
            kept = self.reading.ids(whole)
            if kept is not whole:
                self.truncated += int(np.count_nonzero(whole.lengths > kept.lengths))
            return kept

        if lookup is None or characters <= min(CHARACTERS_OF_A_THREAD, CHARACTERS_PER_BLOCK):
            # The library has threads of its own.
            return tokenize, [slice(0, len(texts))]
        # As many blocks for every thread, so that none waits while another works on an odd one.
        threads = available_threads()
        rounds = -(-characters // (threads * CHARACTERS_PER_BLOCK))
        size = max(-(-characters // (threads * rounds)), CHARACTERS_OF_A_THREAD)
        ends = np.fromiter(map(len, texts), np.int64, len(texts)).cumsum()
        borders = np.searchsorted(ends, np.arange(size, characters, size), side="left") + 1
        return tokenize, [slice(*pair) for pair in pairwise(sorted({0, *borders.tolist(), len(texts)}))]

    def blocks(self, backend: Any, texts: list[str]) -> Iterator[TokenIds]:
        """Computes the ids of all texts, block by block in their order."""
        yield from in_threads(*self.in_blocks(backend, texts), available_threads())

    def _lookup_of(self, backend: Any) -> Lookup | None:
        """Returns the lookup of the tokenizer as it is now, or None if it must do the work itself."""
        state = (id(backend), state_of(backend))
        if self._lookup is None or self._state != state:
            self._state = state
            self._lookup = cache(partial(lookup_for, backend, special_tokens=True))
        return self._lookup()

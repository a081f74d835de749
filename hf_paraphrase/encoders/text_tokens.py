"""The token ids of the texts of an encoder, by array operations on several threads where its tokenizer allows it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from ..tokenization.token_ids import TokenIds
from ..tokenization.token_lookup import Lookup, characters_worth_it, lookup_for, state_of
from ..training.threads import available_threads, in_threads
from .vector_table import Reading

CHARACTERS_PER_BLOCK = 1 << 20
"""Characters that are tokenised at a time at most (a single longer text is a block of its own)."""
CHARACTERS_OF_A_THREAD = 1 << 15
"""Characters from which on it pays to let another thread tokenise some of them."""


@dataclass
class _LookupOfState:
    """The lookup of a tokenizer."""

    state: object
    least: int
    lookup: Lookup | None = None
    made: bool = False


class TextTokens:
    """Computes the token ids of texts, special tokens among them, without padding or truncation.

    Args:
        backend: Gives what turns texts into ids: a tokenizer of the `tokenizers` library, or several that act as one.
            It is asked again each time, since the tokenizer of an encoder can be replaced, and grow.
        reading: What else is done with the texts and their tokens.
    """

    def __init__(self, backend: Callable[[], Any], reading: Reading) -> None:
        self._backend = backend
        self.reading = reading
        self._lookup: _LookupOfState | None = None

    def lists(self, texts: list[str]) -> list[list[int]]:
        """Computes the ids of each text with the `tokenizers` library."""
        backend = self._backend()
        backend.no_padding()
        backend.no_truncation()
        encoded = backend.encode_batch_fast(self.reading.texts(texts), add_special_tokens=True)
        most = self.reading.most_tokens
        if most is None:
            return [item.ids for item in encoded]
        return [item.ids[-most:] if self.reading.from_end else item.ids[:most] for item in encoded]

    def blocks(self, texts: list[str]) -> Iterator[TokenIds]:
        """Computes the ids that :meth:`lists` gives, block by block in the order of the texts."""
        tokenize, blocks = self.in_blocks(texts)
        yield from in_threads(tokenize, blocks, available_threads())

    def in_blocks(self, texts: list[str]) -> tuple[Callable[[slice], TokenIds], list[slice]]:
        """Chooses the way to tokenise some texts, a block of them at a time, and the blocks."""
        characters = sum(map(len, texts))
        lookup = self._lookup_worth_it(characters)
        if lookup is None:
            # The library has threads of its own.
            return lambda rows: TokenIds.of_lists(self.lists(texts[rows])), [slice(0, len(texts))]
        blocks = [slice(0, len(texts))]
        if characters > min(CHARACTERS_OF_A_THREAD, CHARACTERS_PER_BLOCK):
            # As many blocks for every thread, so that none waits while another works on an odd one.
            threads = available_threads()
            rounds = -(-characters // (threads * CHARACTERS_PER_BLOCK))
            size = max(-(-characters // (threads * rounds)), CHARACTERS_OF_A_THREAD)
            ends = np.fromiter(map(len, texts), np.int64, len(texts)).cumsum()
            borders = np.searchsorted(ends, np.arange(size, characters, size), side="left") + 1
            blocks = [slice(*pair) for pair in pairwise(sorted({0, *borders.tolist(), len(texts)}))]
        return lambda rows: self.reading.ids(lookup(self.reading.texts(texts[rows]))), blocks

    def _lookup_worth_it(self, characters: int) -> Lookup | None:
        """Returns the lookup of the tokenizer as it is now, or None if it must do the work itself."""
        backend = self._backend()
        state = (id(backend), state_of(backend))
        if self._lookup is None or self._lookup.state != state:
            self._lookup = _LookupOfState(state, characters_worth_it(backend))
        if not self._lookup.made and characters >= self._lookup.least:
            self._lookup.lookup, self._lookup.made = lookup_for(backend, special_tokens=True), True
        return self._lookup.lookup if characters >= self._lookup.least else None

"""Sentences for the denoising autoencoder: tokenised once, before training, into files that the system maps."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...encoders.token_rows import GrowingArray, ends_of
from ...tokenization.token_ids import id_counts
from ...tokenization.token_lookup import ids_of, lookup_for

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

FEWEST_WORDS = 2
"""A shorter sentence has no two words that could swap, and says nothing of what a sentence is."""
_SENTENCES_PER_BLOCK = 1 << 14


@dataclass
class LeftOut:
    """How many lines of the text are not sentences to train on, by the reason.

    Attributes:
        repeated: Those that are there already, word by word; a sentence counts once.
    """

    empty: int = 0
    short: int = 0
    long: int = 0
    repeated: int = 0

    def __str__(self) -> str:
        parts = [f"{self.repeated:,} repeated", f"{self.long:,} too long", f"{self.short:,} of one word"]
        return ", ".join([*parts, f"{self.empty:,} empty"])


@dataclass
class SdaeSentences:
    """Token ids of sentences, and perhaps their text.

    The arrays may be maps of files, of which the system keeps in memory what it has room for.

    Attributes:
        tokens: The ids of all sentences of the text laid end to end (total,), int32.
        offsets: Where each of them begins, and the end, int64.
        rows: Which of them these sentences are (sentences,), int64.
        characters: The text of all sentences laid end to end, in UTF-8 (bytes,), uint8; None if it was not kept.
        places: Where the text of each of them begins, and the end, int64.
        left_out: What was left out when the text was read.
    """

    tokens: NDArray[np.int32]
    offsets: NDArray[np.int64]
    rows: NDArray[np.int64]
    characters: NDArray[np.uint8] | None = None
    places: NDArray[np.int64] | None = None
    left_out: LeftOut = field(default_factory=LeftOut)

    def __len__(self) -> int:
        return len(self.rows)

    def ids(self, number: int) -> NDArray[np.int32]:
        """Returns the ids of a sentence (words,)."""
        row = self.rows[number]
        return self.tokens[self.offsets[row] : self.offsets[row + 1]]

    def text(self, number: int) -> str:
        """Returns the text of a sentence."""
        if self.characters is None or self.places is None:
            raise ValueError("the text of these sentences was not kept")
        row = self.rows[number]
        return self.characters[self.places[row] : self.places[row + 1]].tobytes().decode("utf-8")

    def lengths(self) -> NDArray[np.int64]:
        """Returns the number of words of each sentence (sentences,)."""
        return (self.offsets[1:] - self.offsets[:-1])[self.rows]

    def take(self, numbers: NDArray[np.int64]) -> SdaeSentences:
        """Selects some of the sentences."""
        return SdaeSentences(
            self.tokens, self.offsets, self.rows[numbers], self.characters, self.places, self.left_out
        )

    def counts(self, vocabulary_size: int) -> NDArray[np.int64]:
        """Counts how often each id occurs in the whole text (vocabulary,)."""
        return id_counts(self.tokens, vocabulary_size)


def encode_sentences(
    texts: Iterable[str],
    tokenizer: PreTrainedTokenizerFast,
    *,
    max_words: int,
    keep_text: bool = False,
    scratch: str | os.PathLike[str] | None = None,
) -> SdaeSentences:
    """Tokenises sentences, leaving out and counting those that are empty, too short, too long or repeated.

    They are streamed, and ids and text go to files without a name, which the system removes with the process however
    it ends; memory stays at one block and a few numbers a sentence.
    """
    backend = tokenizer.backend_tokenizer
    lookup = lookup_for(backend)
    left_out = LeftOut()
    lengths: list[NDArray[np.int64]] = []
    sizes: list[NDArray[np.int64]] = []
    keys: list[NDArray[np.int64]] = []
    what = "the tokenised sentences"
    tokens, characters = GrowingArray(np.int32, scratch, what), GrowingArray(np.uint8, scratch, what)
    try:
        for block in _blocks(texts):
            encoded = ids_of(backend, block, lookup)
            counts = np.diff(encoded.offsets)
            left_out.empty += int((counts == 0).sum())
            left_out.short += int(((counts > 0) & (counts < FEWEST_WORDS)).sum())
            left_out.long += int((counts > max_words).sum())
            kept = np.flatnonzero((counts >= FEWEST_WORDS) & (counts <= max_words))
            rows = [encoded.ids[encoded.offsets[row] : encoded.offsets[row + 1]].astype(np.int32) for row in kept]
            digests = b"".join(hashlib.blake2b(row.tobytes(), digest_size=8).digest() for row in rows)
            keys.append(np.frombuffer(digests, np.int64))
            lengths.append(counts[kept].astype(np.int64))
            tokens.append(b"".join(row.tobytes() for row in rows))
            if keep_text:
                parts = [block[row].encode("utf-8") for row in kept]
                sizes.append(np.array([len(part) for part in parts], np.int64))
                characters.append(b"".join(parts))
        # The first of equal ones, in the order of the text.
        first = np.sort(np.unique(_joined(keys), return_index=True)[1]).astype(np.int64)
        left_out.repeated = len(_joined(keys)) - len(first)
        return SdaeSentences(
            tokens.map(),
            ends_of(_joined(lengths)),
            first,
            characters.map() if keep_text else None,
            ends_of(_joined(sizes)) if keep_text else None,
            left_out,
        )
    finally:
        tokens.close()
        characters.close()


def _blocks(texts: Iterable[str]) -> Iterator[list[str]]:
    stream = iter(texts)
    while block := list(islice(stream, _SENTENCES_PER_BLOCK)):
        yield block


def _joined(parts: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)

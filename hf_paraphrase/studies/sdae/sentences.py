"""Sentences for the denoising autoencoder: tokenised once, before training, into files that the system maps."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...encoders.token_rows import GrowingArray, ends_of
from ...tokenization.token_lookup import ids_of, lookup_for

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

FEWEST_WORDS = 2
"""A shorter sentence has no two words that could swap, and says nothing of what a sentence is."""
_SENTENCES_PER_BLOCK = 1 << 14


@dataclass
class SdaeSentences:
    """Token ids of sentences, and perhaps their text.

    The arrays may be maps of files, of which the system keeps in memory what it has room for.

    Attributes:
        tokens: The ids of all sentences of the text laid end to end (total,), int32.
        offsets: Where each of them begins, and the end.
        rows: Which of them these sentences are (sentences,).
        characters: The text of all sentences laid end to end, in UTF-8 (bytes,), uint8; None if it was not kept.
        places: Where the text of each of them begins, and the end.
        left_out: How many lines were left out when the text was read, by the reason.
    """

    tokens: NDArray[np.int32]
    offsets: NDArray[np.int64]
    rows: NDArray[np.int64]
    characters: NDArray[np.uint8] | None
    places: NDArray[np.int64]
    left_out: dict[str, int]

    def __len__(self) -> int:
        return len(self.rows)

    def ids(self, number: int) -> NDArray[np.int32]:
        """Returns the ids of a sentence (words,)."""
        row = self.rows[number]
        return self.tokens[self.offsets[row] : self.offsets[row + 1]]

    def text(self, number: int) -> str:
        """Returns the text of a sentence."""
        if self.characters is None:
            raise ValueError("the text of these sentences was not kept")
        row = self.rows[number]
        return self.characters[self.places[row] : self.places[row + 1]].tobytes().decode("utf-8")

    def lengths(self) -> NDArray[np.int64]:
        """Returns the number of words of each sentence (sentences,)."""
        return np.diff(self.offsets)[self.rows]

    def take(self, numbers: NDArray[np.int64]) -> SdaeSentences:
        """Selects some of the sentences."""
        return replace(self, rows=self.rows[numbers])


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
    it ends; memory stays at a few numbers a sentence.
    """
    backend = tokenizer.backend_tokenizer
    lookup = lookup_for(backend)
    left_out = dict.fromkeys(("repeated", "too long", "of one word", "empty"), 0)
    seen: set[bytes] = set()
    rows: list[int] = []
    lengths: list[int] = []
    sizes: list[int] = []
    what = "the tokenised sentences"
    with ExitStack() as stack:
        tokens, characters = (GrowingArray(kind, scratch, what) for kind in (np.int32, np.uint8))
        stack.callback(tokens.close)
        stack.callback(characters.close)
        stream = iter(texts)
        while block := list(islice(stream, _SENTENCES_PER_BLOCK)):
            encoded = ids_of(backend, block, lookup)
            for text, ids in zip(block, np.split(encoded.ids.astype(np.int32), encoded.offsets[1:-1]), strict=True):
                words = ids.tobytes()
                key = hashlib.blake2b(words, digest_size=8).digest()
                if not FEWEST_WORDS <= len(ids) <= max_words:
                    left_out[
                        "empty" if not len(ids) else "of one word" if len(ids) < FEWEST_WORDS else "too long"
                    ] += 1
                    continue
                if key in seen:
                    left_out["repeated"] += 1
                else:
                    seen.add(key)
                    rows.append(len(lengths))
                lengths.append(len(ids))
                tokens.append(words)
                if keep_text:
                    sizes.append(len(text.encode()))
                    characters.append(text.encode())
        return SdaeSentences(
            tokens.map(),
            ends_of(np.array(lengths, np.int64)),
            np.array(rows, np.int64),
            characters.map() if keep_text else None,
            ends_of(np.array(sizes, np.int64)),
            left_out,
        )

"""Sentences for the denoising autoencoder, tokenised once before training."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
import xxhash
from numpy.typing import NDArray

from ...tokenization.token_ids import TokenIds
from ...tokenization.token_lookup import ids_of, lookup_for

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

FEWEST_WORDS = 2
"""A shorter sentence has no two words that could swap, and says nothing of what a sentence is."""
_SENTENCES_PER_BLOCK = 1 << 14


@dataclass
class SdaeSentences:
    """Token ids of sentences, and perhaps their text.

    Attributes:
        tokens: The ids of all sentences of the text, int32.
        rows: Which of them these sentences are (sentences,).
        texts: The text of each of these; None if it was not kept.
        left_out: How many lines were left out when the text was read, by the reason.
    """

    tokens: TokenIds
    rows: NDArray[np.int64]
    texts: list[str] | None
    left_out: dict[str, int]

    def __len__(self) -> int:
        return len(self.rows)

    def ids(self, number: int) -> NDArray[np.int32]:
        """Returns the ids of a sentence (words,)."""
        row = self.rows[number]
        return self.tokens.ids[self.tokens.offsets[row] : self.tokens.offsets[row + 1]].astype(np.int32, copy=False)

    def text(self, number: int) -> str:
        """Returns the text of a sentence."""
        if self.texts is None:
            raise ValueError("the text of these sentences was not kept")
        return self.texts[number]

    def lengths(self) -> NDArray[np.int64]:
        """Returns the number of words of each sentence (sentences,)."""
        return self.tokens.lengths[self.rows]

    def take(self, numbers: NDArray[np.int64]) -> SdaeSentences:
        """Selects some of the sentences."""
        texts = None if self.texts is None else [self.texts[number] for number in numbers]
        return replace(self, rows=self.rows[numbers], texts=texts)


def encode_sentences(
    texts: Iterable[str], tokenizer: PreTrainedTokenizerFast, *, max_words: int, keep_text: bool = False
) -> SdaeSentences:
    """Tokenises sentences, leaving out and counting those that are empty, too short, too long or repeated."""
    backend = tokenizer.backend_tokenizer
    lookup = lookup_for(backend)
    left_out = dict.fromkeys(("repeated", "too long", "of one word", "empty"), 0)
    seen: set[int] = set()
    rows: list[int] = []
    lengths: list[int] = []
    kept_ids: list[NDArray[np.int32]] = []
    kept_texts: list[str] = []
    stream = iter(texts)
    while block := list(islice(stream, _SENTENCES_PER_BLOCK)):
        encoded = ids_of(backend, block, lookup)
        for text, ids in zip(block, np.split(encoded.ids.astype(np.int32), encoded.offsets[1:-1]), strict=True):
            if not FEWEST_WORDS <= len(ids) <= max_words:
                left_out["empty" if not len(ids) else "of one word" if len(ids) < FEWEST_WORDS else "too long"] += 1
                continue
            key = xxhash.xxh3_64_intdigest(ids.tobytes())
            if key in seen:
                left_out["repeated"] += 1
            else:
                seen.add(key)
                rows.append(len(lengths))
                kept_texts += [text] if keep_text else []
            lengths.append(len(ids))
            kept_ids.append(ids)
    return SdaeSentences(
        TokenIds(np.concatenate([np.empty(0, np.int32), *kept_ids]), np.cumsum([0, *lengths])),
        np.array(rows, np.int64),
        kept_texts if keep_text else None,
        left_out,
    )

"""Sentences for the denoising autoencoder, tokenised once before training."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
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
    """Token ids of sentences, int32, and their text, which is empty if it was not kept."""

    tokens: TokenIds
    texts: list[str]

    def __len__(self) -> int:
        return len(self.tokens.offsets) - 1

    def ids(self, number: int) -> NDArray[np.int32]:
        """Returns the ids of a sentence (words,)."""
        return self.tokens.ids[self.tokens.offsets[number] : self.tokens.offsets[number + 1]].astype(
            np.int32, copy=False
        )

    def take(self, numbers: NDArray[np.int64]) -> SdaeSentences:
        """Selects some of the sentences."""
        return SdaeSentences(self.tokens.take(numbers), [self.texts[number] for number in numbers if self.texts])


def encode_sentences(
    texts: Iterable[str], tokenizer: PreTrainedTokenizerFast, *, max_words: int, keep_text: bool = False
) -> tuple[SdaeSentences, int]:
    """Tokenises sentences, and counts those that are left out: repeated, too long, or of less than two words."""
    backend = tokenizer.backend_tokenizer
    lookup = lookup_for(backend)
    seen: set[int] = set()
    kept_ids: list[NDArray[np.int32]] = [np.empty(0, np.int32)]
    kept_texts: list[str] = []
    num_texts = 0
    stream = iter(texts)
    while block := list(islice(stream, _SENTENCES_PER_BLOCK)):
        num_texts += len(block)
        encoded = ids_of(backend, block, lookup)
        for text, ids in zip(block, np.split(encoded.ids.astype(np.int32), encoded.offsets[1:-1]), strict=True):
            key = xxhash.xxh3_64_intdigest(ids.tobytes())
            if FEWEST_WORDS <= len(ids) <= max_words and key not in seen:
                seen.add(key)
                kept_ids.append(ids)
                kept_texts += [text] if keep_text else []
    tokens = TokenIds(np.concatenate(kept_ids), np.cumsum([len(ids) for ids in kept_ids]))
    return SdaeSentences(tokens, kept_texts), num_texts - len(seen)

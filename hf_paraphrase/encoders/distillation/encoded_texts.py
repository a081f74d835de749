"""Texts as token ids: tokenised once, before training, into files that the system maps."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...tokenization.token_ids import id_counts
from ...tokenization.token_lookup import ids_of, lookup_for
from ..token_rows import GrowingArray, ends_of, token_places

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

    from .texts import Texts


@dataclass
class EncodedTexts:
    """Token ids of texts.

    Attributes:
        tokens: The ids of all texts laid end to end (total,), int32, usually a map of a file.
        ends: Where each text begins, and the end (texts + 1,), int64.
    """

    tokens: NDArray[np.int32]
    ends: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.ends) - 1

    def take(self, numbers: NDArray[np.int64]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Returns the ids of some texts laid end to end (total,), and the length of each (texts,)."""
        starts = self.ends[numbers]
        lengths = self.ends[numbers + 1] - starts
        text, position = token_places(lengths)
        return self.tokens[starts[text] + position], lengths

    def counts(self, vocabulary_size: int) -> NDArray[np.int64]:
        """Counts how often each id occurs (vocabulary,)."""
        return id_counts(self.tokens, vocabulary_size)


def encode_texts(
    texts: Texts, tokenizer: PreTrainedTokenizerFast, *, scratch: str | os.PathLike[str] | None = None
) -> EncodedTexts:
    """Tokenises texts; one may have no tokens."""
    backend = tokenizer.backend_tokenizer
    lookup = lookup_for(backend)
    tokens = GrowingArray(np.int32, scratch, "the tokenised text")
    lengths = [np.zeros(0, np.int64)]
    try:
        for block in texts.blocks():
            token_ids = ids_of(backend, block, lookup)
            tokens.append(token_ids.ids)
            lengths.append(token_ids.lengths)
        return EncodedTexts(tokens.map(), ends_of(np.concatenate(lengths)))
    finally:
        tokens.close()

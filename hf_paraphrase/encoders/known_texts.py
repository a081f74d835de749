"""Embeddings for a search, in which texts that the encoder knows nothing of are like no other."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .sentence_encoder import SentenceEncoder

_ALPHANUMERIC = re.compile(r"[^\W_]")


class KnownTexts:
    """Embeds texts for a search: unit vectors, and zero for a text without any known word.

    Unknown words share one vector, so that all texts of unknown words and a full stop, such as those of another
    language, would have a cosine of nearly 1 with each other and stand at the top of every list of paraphrases. A
    token is a known word if it is not the unknown one and has a letter or a digit.
    """

    def __init__(self, encoder: SentenceEncoder) -> None:
        self.encoder = encoder
        self._words: NDArray[np.bool_] | None = None
        vocabulary, unknown_id, special_ids = encoder.vocabulary()
        if unknown_id is not None:
            self._words = np.zeros(max(vocabulary.values()) + 1, bool)
            self._words[[number for token, number in vocabulary.items() if _ALPHANUMERIC.search(token)]] = True
            self._words[[unknown_id, *special_ids]] = False

    def embed(self, texts: str | Sequence[str], *, batch_size: int = 256) -> NDArray[np.float32]:
        """Embeds texts as float32 (texts, dim), each row of length 1 or 0."""
        ids = self.encoder.token_ids(texts)
        vectors = self.encoder.encode_token_ids(ids, batch_size=batch_size, normalize=True)
        if self._words is not None:
            words = np.concatenate([[0], self._words[ids.ids].cumsum()])
            vectors[words[ids.offsets[1:]] == words[ids.offsets[:-1]]] = 0
        return vectors

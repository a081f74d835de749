"""Embeddings for a search, in which texts without a known word match no other text.

:class:`SimilarSentences` uses them for `--decontaminate-similarity`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..vectors.exact_search import find_nearest
from ..vectors.similarity import checked_vectors
from .sentence_encoder import SentenceEncoder

if TYPE_CHECKING:
    import pyarrow as pa


class SearchEmbedder:
    """Embeds texts for a search: unit vectors, and zeros for a text without a known word.

    Unknown words share one vector, so the cosine of two texts of unknown words would be nearly 1. A known word is a
    token with a letter or a digit that is neither special nor the unknown token.
    """

    def __init__(self, encoder: SentenceEncoder) -> None:
        self.encoder = encoder

    def embed(
        self, texts: str | Sequence[str], *, prompt: str | None = None, batch_size: int = 256
    ) -> NDArray[np.float32]:
        """Embed texts as float32 (texts, dim), each row of length 1 or 0, with `prompt` or the default prompt."""
        prepared = self.encoder.prepare(texts)
        options: dict[str, Any] = {"batch_size": batch_size, "normalize": True, "needs_known_words": True}
        vectors = self.encoder.embed(prepared, prompt=prompt, **options)
        return checked_vectors(vectors, len(vectors))


class SimilarSentences:
    """Finds sentences whose cosine to a sentence of a named evaluation set reaches a threshold."""

    def __init__(self, threshold: float, encoder: str) -> None:
        self._threshold = threshold
        self._embedder = SearchEmbedder(SentenceEncoder.from_pretrained(encoder))
        self._sets: dict[str, NDArray[np.float32]] = {}

    def label(self, name: str) -> str:
        """Return the name under which a report counts the rows that only resemble a sentence of a set."""
        return f"{name} (similarity {self._threshold:g})"

    def add(self, name: str, texts: pa.Array, words: pa.Array) -> None:
        """Add sentences to a set."""
        vectors = self._embedder.embed(texts.to_pylist())
        self._sets[name] = np.concatenate([self._sets.get(name, vectors[:0]), vectors[vectors.any(axis=1)]])

    def match(self, texts: pa.Array, words: pa.Array) -> dict[str, NDArray[np.int64]]:
        """Return the rows, ascending, that each set matches; leave sets without matches out."""
        vectors = self._embedder.embed(texts.to_pylist())
        rows_by_set = {}
        for name, references in self._sets.items():
            rows, cosines = find_nearest(vectors, references, 1, skip_zero=True, query_block=4096)
            near = np.flatnonzero((rows >= 0) & (cosines >= self._threshold) if len(references) else np.empty(0))
            if len(near):
                rows_by_set[name] = near
        return rows_by_set

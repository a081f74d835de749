"""Sentences near to those of evaluation sets, by the vectors of an encoder, for `--decontaminate-similarity`."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..errors import ModelError
from .known_texts import KnownTexts
from .search.nearest_neighbours import nearest_neighbours
from .sentence_encoder import SentenceEncoder


class SimilarSentences:
    """The vectors of several named evaluation sets.

    A set matches a sentence if the cosine to one of its sentences, of four words or more, reaches the threshold.
    """

    def __init__(self, threshold: float, encoder: str) -> None:
        self._threshold = threshold
        self._embedder = KnownTexts(SentenceEncoder.from_pretrained(encoder))
        self._sets: dict[str, NDArray[np.float32]] = {}

    def label(self, name: str) -> str:
        """Returns the name under which rows that a set matched by similarity only are counted."""
        return f"{name} (similarity {self._threshold:g})"

    def add(self, name: str, texts: pa.Array, words: pa.Array) -> None:
        """Adds sentences to a set."""
        vectors = self._vectors(texts)
        self._sets[name] = np.concatenate([self._sets.get(name, vectors[:0]), vectors[vectors.any(axis=1)]])

    def match(self, texts: pa.Array, words: pa.Array) -> dict[str, NDArray[np.int64]]:
        """Finds for each set that matches any sentence the numbers of those, ascending."""
        vectors = self._vectors(texts)
        rows_by_set = {}
        for name, known in self._sets.items():
            rows, cosines = nearest_neighbours(vectors, known, 1, skip_zero=True, query_block=4096)
            near = np.flatnonzero((rows >= 0) & (cosines >= self._threshold) if len(known) else np.empty(0))
            if len(near):
                rows_by_set[name] = near
        return rows_by_set

    def _vectors(self, texts: pa.Array) -> NDArray[np.float32]:
        vectors = self._embedder.embed(texts.to_pylist())
        if not np.isfinite(vectors).all():
            raise ModelError("the encoder of --decontaminate-similarity gave vectors with NaN or infinity")
        return vectors

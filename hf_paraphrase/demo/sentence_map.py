"""A map of a corpus: its vectors on their first two principal components."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..encoders.search.index import Neighbour, SearchIndex
from ..encoders.search.vector_file import VectorFile
from .charts import MapPoints, point_map

_MOST_POINTS = 2_000
_LONGEST = 160
_SEED = 0


@dataclass(frozen=True)
class SentenceMap:
    """Some sentences of a corpus and their places on the map.

    Attributes:
        centre: The mean of their vectors (dim,).
        axes: The first two principal components (dim, 2).
        kept: The share of the variance that these keep, from 0 to 1.
        places: Where the sentences stand (sentences, 2).
    """

    centre: NDArray[np.float64]
    axes: NDArray[np.float64]
    kept: float
    places: NDArray[np.float64]
    texts: list[str]
    total: int

    def project(self, vectors: NDArray[np.floating]) -> NDArray[np.float64]:
        """Computes the places of vectors (rows, dim) on the map (rows, 2)."""
        return (vectors.astype(np.float64) - self.centre) @ self.axes

    def draw(
        self, query: str, vector: NDArray[np.float32], neighbours: Sequence[Neighbour], vectors: VectorFile
    ) -> str:
        """Draws the map with a query and its neighbours.

        Args:
            query: The query.
            vector: Its embedding (dim,).
            neighbours: Its neighbours.
            vectors: The vectors of the corpus.
        """
        rows = np.array([item.row for item in neighbours], np.int64)
        near = self.project(vectors.take(rows)) if len(rows) else np.empty((0, 2))
        layers = [
            MapPoints("sentence", self.places, [text[:_LONGEST] for text in self.texts]),
            MapPoints("neighbour", near, [f"{item.score:.3f} {item.sentence[:_LONGEST]}" for item in neighbours]),
            MapPoints("query", self.project(vector[None]), [query[:_LONGEST]]),
        ]
        shown = "all" if len(self.texts) == self.total else f"{len(self.texts):,} of the {self.total:,}"
        return point_map(
            layers,
            f"{shown} sentences on the first two principal components, which keep {self.kept:.0%} of the variance: "
            "what is near here may be far, and the reverse",
        )


def map_of(index: SearchIndex) -> SentenceMap:
    """Makes the map of an index, from at most some thousands of its sentences, drawn at random."""
    rows = np.arange(len(index))
    if len(rows) > _MOST_POINTS:
        rows = np.sort(np.random.default_rng(_SEED).choice(len(index), _MOST_POINTS, replace=False))
    vectors = index.vectors.take(rows).astype(np.float64)
    nonzero = vectors.any(1)
    rows, vectors = rows[nonzero], vectors[nonzero]
    centre = vectors.mean(0)
    variances, directions = np.linalg.eigh((vectors - centre).T @ (vectors - centre))
    axes = directions[:, ::-1][:, :2]
    if axes.shape[1] < 2:
        axes = np.pad(axes, ((0, 0), (0, 2 - axes.shape[1])))
    total = float(variances.sum())
    kept = float(variances[::-1][:2].sum()) / total if total > 0 else 1.0
    return SentenceMap(centre, axes, kept, (vectors - centre) @ axes, index.sentences.sentences(rows), len(index))

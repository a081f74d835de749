"""Finding the translation of a sentence among others by cosine: how good vectors of two languages are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..data.fingerprints import normalise_all
from ..encoders.search.nearest_neighbours import nearest_neighbours


@dataclass(frozen=True)
class RetrievalScores:
    """Precision at 1, in per cent: how often the nearest of so many sentences of the other side is a translation."""

    source_to_target: float
    target_to_source: float
    mean: float
    pairs: int


def translation_retrieval(
    sources: Sequence[str],
    targets: Sequence[str],
    source_vectors: NDArray[np.float32],
    target_vectors: NDArray[np.float32],
) -> RetrievalScores:
    """Looks for every sentence's translation among all sentences of the other side, by vectors (pairs, dim).

    The nearest sentence counts as right if some pair says that it is a translation; case and punctuation do not
    matter for that. A zero vector, of a sentence without known words, finds nothing.
    """
    if not len(sources):
        raise ValueError("there are no pairs")
    keys = []
    for texts in (sources, targets):
        names = [name or text for name, text in zip(normalise_all(pa.array(texts)).to_pylist(), texts, strict=True)]
        keys.append(np.unique(np.array(names, dtype=object), return_inverse=True)[1].astype(np.int64))
    width = int(keys[1].max()) + 1
    pair_keys = np.unique(keys[0] * width + keys[1])
    shares = []
    for left, right, near, far in (
        (keys[0] * width, keys[1], source_vectors, target_vectors),
        (keys[1], keys[0] * width, target_vectors, source_vectors),
    ):
        nearest = nearest_neighbours(near, far, 1)[0][:, 0]
        shares.append(100.0 * float((np.isin(left + right[nearest], pair_keys) & near.any(1)).mean()))
    return RetrievalScores(shares[0], shares[1], sum(shares) / 2, len(sources))

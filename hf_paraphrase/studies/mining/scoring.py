"""The candidate pairs, their margin scores, and the choice among pairs that share a sentence.

Margin scores are those of "Margin-based Parallel Corpus Mining with Multilingual Sentence Embeddings" (Artetxe and
Schwenk 2019, section 4.1). Some sentences are near to everything, so that a cosine means different things for
different sentences; with NN_k(x) the k nearest neighbours of x in the other language,

    score(x, y) = margin(cos(x, y), Σ_{z in NN_k(x)} cos(x, z) / 2k + Σ_{z in NN_k(y)} cos(y, z) / 2k).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...encoders.search.vector_file import VectorFile, cosine_of_rows

_PAIRS_AT_A_TIME = 1 << 16
MARGINS = ("ratio", "distance", "absolute")
"""margin(a, b): `ratio` a / b, `distance` a − b, `absolute` a."""
_LEAST_MEAN = 1e-6


@dataclass(frozen=True)
class CandidatePairs:
    """Pairs of sentences that may be translations of each other.

    Attributes:
        source: The place of the source sentence (pairs,), int64, rising.
        target: The place of the target sentence (pairs,), int64.
        cosine: Their cosine under the encoder of the filter (pairs,), float32.
    """

    source: NDArray[np.int64]
    target: NDArray[np.int64]
    cosine: NDArray[np.float32]

    @classmethod
    def of(cls, rows: NDArray[np.int64], cosines: NDArray[np.float32]) -> CandidatePairs:
        """Lays lists of candidates (sources, n), -1 where there are fewer, and their cosines out as pairs."""
        source, place = np.nonzero(rows >= 0)
        return cls(source.astype(np.int64), rows[source, place], cosines[source, place])

    def __len__(self) -> int:
        return len(self.source)


def pair_cosines(pairs: CandidatePairs, source: VectorFile, target: VectorFile) -> NDArray[np.float32]:
    """Computes the cosines of the pairs (pairs,) under another encoder."""
    cosines = np.empty(len(pairs), np.float32)
    for start in range(0, len(pairs), _PAIRS_AT_A_TIME):
        part = slice(start, start + _PAIRS_AT_A_TIME)
        cosines[part] = cosine_of_rows(source.take(pairs.source[part]), target.take(pairs.target[part]))
    return cosines


def margin_scores(
    cosines: NDArray[np.float32] | NDArray[np.float64],
    source_means: NDArray[np.float64],
    target_means: NDArray[np.float64],
    kind: str = "ratio",
) -> NDArray[np.float64]:
    """Computes the margin score of pairs.

    Args:
        cosines: The cosine of each pair (pairs,).
        source_means: The mean cosine of its source sentence with its neighbourhood (pairs,).
        target_means: That of its target sentence (pairs,).
        kind: One of :data:`MARGINS`.

    Returns:
        float64 (pairs,); a ratio against a mean that is not positive says nothing and is 0.
    """
    values = np.asarray(cosines, np.float64)
    means = (source_means + target_means) / 2
    if kind == "ratio":
        return np.where(means > _LEAST_MEAN, values / np.maximum(means, _LEAST_MEAN), 0.0)
    return np.asarray(values - means if kind == "distance" else values, np.float64)


def by_score(source: NDArray[np.int64], target: NDArray[np.int64], scores: NDArray[np.float64]) -> NDArray[np.int64]:
    """Orders pairs (pairs,) by falling score, equal ones by rising source and target."""
    return np.lexsort((target, source, -scores))


def one_to_one_pairs(
    source: NDArray[np.int64], target: NDArray[np.int64], scores: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Takes pairs in the order of their scores, those whose sentences are both free.

    Leaving out pairs below a threshold before or after gives the same pairs.
    """
    taken = np.zeros(len(scores), bool)
    used_sources: set[int] = set()
    used_targets: set[int] = set()
    for place in by_score(source, target, scores):
        one, two = int(source[place]), int(target[place])
        if one not in used_sources and two not in used_targets:
            used_sources.add(one)
            used_targets.add(two)
            taken[place] = True
    return taken

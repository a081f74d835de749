"""The candidate pairs and their scores: cosine, margin, the classifier's probability, and several together.

Margin scores are those of "Margin-based Parallel Corpus Mining with Multilingual Sentence Embeddings" (Artetxe and
Schwenk 2019, section 4.1). Some sentences are near to everything, so that a cosine means different things for
different sentences; with NN_k(x) the k nearest neighbours of x in the other language,

    score(x, y) = margin(cos(x, y), Σ_{z in NN_k(x)} cos(x, z) / 2k + Σ_{z in NN_k(y)} cos(y, z) / 2k).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...encoders.search.vector_file import VectorFile, cosine_of_rows

COMBINATIONS = ("product", "mean")
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
    def of(
        cls,
        rows: NDArray[np.int64],
        cosines: NDArray[np.float32],
        source_known: NDArray[np.bool_],
        target_known: NDArray[np.bool_],
    ) -> CandidatePairs:
        """Lays the lists of candidates out as pairs.

        Args:
            rows: The candidates of each source (sources, n); -1 where there are fewer.
            cosines: Their cosines (sources, n).
            source_known: Which sources have a vector (sources,); the others get no candidates.
            target_known: Which targets have one (targets,); the others are no candidates.
        """
        kept = source_known[:, None] & target_known[rows] & (rows >= 0)
        source, place = np.nonzero(kept)
        return cls(source.astype(np.int64), rows[source, place], cosines[source, place])

    def __len__(self) -> int:
        return len(self.source)


def known_rows(vectors: VectorFile) -> NDArray[np.bool_]:
    """Returns which vectors of a file are not zero (rows,)."""
    blocks = range(0, len(vectors), _PAIRS_AT_A_TIME)
    parts = [vectors[start : start + _PAIRS_AT_A_TIME].any(axis=1) for start in blocks]
    return np.concatenate(parts) if parts else np.empty(0, bool)


def pair_cosines(pairs: CandidatePairs, source: VectorFile, target: VectorFile) -> NDArray[np.float32]:
    """Computes the cosines of the pairs under another encoder (pairs,).

    Args:
        pairs: The pairs.
        source: Its vectors of the source side, of length 1 or 0.
        target: Those of the target side; they are held in memory.
    """
    cosines = np.empty(len(pairs), np.float32)
    right = target[: len(target)]
    for start in range(0, len(pairs), _PAIRS_AT_A_TIME):
        part = slice(start, start + _PAIRS_AT_A_TIME)
        # Sources rise, so those of a block of pairs are together.
        rows = pairs.source[part]
        block = source[int(rows[0]) : int(rows[-1]) + 1]
        cosines[part] = cosine_of_rows(block[rows - rows[0]], right[pairs.target[part]])
    return cosines


def combined_scores(scores: Sequence[NDArray[np.float64]], how: str) -> NDArray[np.float64]:
    """Makes one score of several.

    Args:
        scores: Scores of the same pairs, each (pairs,).
        how: `mean`: the arithmetic mean; `product`: the product of the scores, of which negative ones count as 0.
    """
    if not scores:
        raise ValueError("no scores to combine")
    if len(scores) == 1:
        return scores[0]
    if how == "mean":
        return np.asarray(np.mean(scores, axis=0), np.float64)
    if how == "product":
        return np.asarray(np.prod([np.maximum(values, 0.0) for values in scores], axis=0), np.float64)
    raise ValueError(f"scores are combined by {' or '.join(COMBINATIONS)}, not {how}")


def neighbourhood_means(cosines: NDArray[np.float32], k: int) -> NDArray[np.float64]:
    """Computes the mean cosine of each sentence with its k nearest on the other side."""
    if k < 1 or not cosines.shape[1]:
        raise ValueError(f"no mean of {min(k, cosines.shape[1])} neighbours")
    return cosines[:, :k].mean(axis=1, dtype=np.float64)


def margin_scores(
    cosines: NDArray[np.float32] | NDArray[np.float64],
    source_means: NDArray[np.float64],
    target_means: NDArray[np.float64],
    kind: str = "ratio",
) -> NDArray[np.float64]:
    """Computes the margin score of pairs.

    Args:
        cosines: The cosine of each pair (pairs,).
        source_means: The mean of the neighbourhood of its source sentence (pairs,).
        target_means: That of its target sentence (pairs,).
        kind: One of :data:`MARGINS`.

    Returns:
        float64 (pairs,); a ratio against a mean that is not positive says nothing and is 0.
    """
    values = np.asarray(cosines, np.float64)
    means = (source_means + target_means) / 2
    if kind == "ratio":
        return np.where(means > _LEAST_MEAN, values / np.maximum(means, _LEAST_MEAN), 0.0)
    if kind == "distance":
        return np.asarray(values - means, np.float64)
    if kind == "absolute":
        return values
    raise ValueError(f"the margin must be one of {', '.join(MARGINS)}, not {kind}")

"""One-to-one matching: of the candidate pairs, those in which no sentence occurs twice.

A sentence of a collection rarely has two translations in the other, and the n best candidates of a sentence are like
one another; so of the pairs that share a sentence, only the best is kept.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

MATCHINGS = ("greedy", "exact")
_LEAST_GAIN = 1e-9
_PAIRS_AT_A_TIME = 1 << 18


def by_score(source: NDArray[np.int64], target: NDArray[np.int64], scores: NDArray[np.float64]) -> NDArray[np.int64]:
    """Orders pairs (pairs,) by falling score, equal ones by rising source and target."""
    return np.lexsort((target, source, -scores))


def greedy_matching(
    source: NDArray[np.int64], target: NDArray[np.int64], scores: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Takes pairs in the order of their scores, those whose sentences are both free.

    Leaving out pairs below a threshold before or after gives the same pairs.
    """
    taken = np.zeros(len(scores), bool)
    if not len(scores):
        return taken
    order = by_score(source, target, scores)
    free_source = bytearray(b"\1") * (int(source.max()) + 1)
    free_target = bytearray(b"\1") * (int(target.max()) + 1)
    # In slices, because Python's numbers take several times the memory of an array's.
    for start in range(0, len(order), _PAIRS_AT_A_TIME):
        places = order[start : start + _PAIRS_AT_A_TIME]
        chosen = []
        for place, one, two in zip(places.tolist(), source[places].tolist(), target[places].tolist(), strict=True):
            if free_source[one] and free_target[two]:
                free_source[one] = free_target[two] = 0
                chosen.append(place)
        taken[chosen] = True
    return taken


def exact_matching(
    source: NDArray[np.int64], target: NDArray[np.int64], scores: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Finds the one-to-one pairs of the greatest total score (the assignment problem).

    Scores count from the lowest one upwards, so a pair is never left out for its score alone.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import min_weight_full_bipartite_matching

    taken = np.zeros(len(scores), bool)
    if not len(scores):
        return taken
    _, rows = np.unique(source, return_inverse=True)
    _, columns = np.unique(target, return_inverse=True)
    rows, columns = rows.reshape(-1), columns.reshape(-1)
    count, width = int(rows.max()) + 1, int(columns.max()) + 1
    low, high = float(scores.min()), float(scores.max())
    # Gains above 0, so that a pair is better than none; costs must not be zero, which would mean no edge.
    gains = _LEAST_GAIN + (scores - low) / (high - low) if high > low else np.ones(len(scores))
    alone = np.arange(count)
    # Each source has a place of its own at no gain, so that all of them can be matched.
    places = (np.concatenate([rows, alone]), np.concatenate([columns, width + alone]))
    costs = np.concatenate([2.0 - gains, np.full(count, 2.0)])
    graph = coo_array((costs, places), shape=(count, width + count)).tocsr()
    matched_rows, matched_columns = min_weight_full_bipartite_matching(graph)
    partner = np.empty(count, np.int64)
    partner[matched_rows] = matched_columns
    return np.asarray(partner[rows] == columns)


def matching(
    kind: str | None, source: NDArray[np.int64], target: NDArray[np.int64], scores: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Applies the matching of a name."""
    if kind is None:
        return np.ones(len(scores), bool)
    if kind not in MATCHINGS:
        raise ValueError(f"the matching must be one of {', '.join(MATCHINGS)}, not {kind}")
    return (greedy_matching if kind == "greedy" else exact_matching)(source, target, scores)

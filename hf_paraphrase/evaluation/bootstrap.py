"""How much a mean correlation depends on the sentence pairs that happen to be in the sets: the paired bootstrap."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_CELLS_AT_A_TIME = 1 << 22


def bootstrap_means(
    similarities: Sequence[NDArray[np.float64]],
    scores: Sequence[NDArray[np.float64]],
    *,
    replicates: int = 1000,
    seed: int = 0,
) -> NDArray[np.float64]:
    """Computes the mean Pearson correlation over sets of several systems on resampled sentence pairs.

    In every replicate each set's pairs are drawn again with replacement, as many as it has, the same ones for all
    systems, so that differences between systems are paired (Efron and Tibshirani 1993, chapter 13). A correlation that
    a draw leaves undefined counts as 0.

    Args:
        similarities: For each set an array (systems, pairs).
        scores: For each set the human scores (pairs,).
        replicates: How many times to draw.
        seed: Seed of the draws.

    Returns:
        Unweighted means over the sets of Pearson's r × 100 (replicates, systems).
    """
    generator = np.random.default_rng(seed)
    total = np.zeros((replicates, len(similarities[0])))
    for values, gold in zip(similarities, scores, strict=True):
        size = len(gold)
        # Centring changes no correlation and keeps the sums of squares small.
        x = (values - values.mean(axis=1, keepdims=True)).T
        y = gold - gold.mean()
        columns = np.concatenate([x, x * x, x * y[:, None], y[:, None], (y * y)[:, None]], axis=1)
        step = max(1, _CELLS_AT_A_TIME // size)
        for start in range(0, replicates, step):
            stop = min(replicates, start + step)
            counts = generator.multinomial(size, np.full(size, 1 / size), size=stop - start)
            sums = counts @ columns / size
            k = x.shape[1]
            mx, mxx, mxy, my, myy = sums[:, :k], sums[:, k : 2 * k], sums[:, 2 * k : 3 * k], sums[:, -2], sums[:, -1]
            covariance = mxy - mx * my[:, None]
            product = np.clip(mxx - mx * mx, 0, None) * np.clip(myy - my * my, 0, None)[:, None]
            r = np.divide(covariance, np.sqrt(product), out=np.zeros_like(covariance), where=product > 1e-20)
            total[start:stop] += 100.0 * r
    return total / len(scores)

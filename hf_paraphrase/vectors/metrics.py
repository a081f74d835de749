"""Correlation coefficients and average precision, defined also where the formulas divide by zero."""

from __future__ import annotations

import numpy as np


def pearson(x: np.ndarray, y: np.ndarray) -> float:
    """Computes Pearson's r of two arrays (n,); 0 if either is constant or shorter than two."""
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if is_constant(x) or is_constant(y):
        return 0.0
    x, y = x - x.mean(), y - y.mean()
    # Scaling first keeps the squares of very small deviations from underflowing.
    x, y = x / np.abs(x).max(), y / np.abs(y).max()
    return float(np.clip(x @ y / np.sqrt((x @ x) * (y @ y)), -1.0, 1.0))


def spearman(x: np.ndarray, y: np.ndarray) -> float:
    """Computes Spearman's rho of two arrays (n,): Pearson's r of the ranks, ties sharing their mean rank."""
    from scipy.stats import rankdata

    return pearson(rankdata(x), rankdata(y))


def average_precision(similarities: np.ndarray, labels: np.ndarray) -> float:
    """Computes the average precision of similarities (n,) for labels of 1 and 0 (n,); equal ones together."""
    order = np.argsort(-similarities, kind="stable")
    hits, ends = labels[order].cumsum(), np.flatnonzero(np.diff(similarities[order], append=-np.inf))
    if not len(hits) or not hits[-1]:
        return 0.0
    found = hits[ends]
    return float((np.diff(found, prepend=0) / hits[-1] * found / (ends + 1)).sum())


def correlations(similarities: np.ndarray, scores: np.ndarray) -> tuple[float, float, str]:
    """Correlates similarities with human scores, both arrays (n,).

    Returns:
        Pearson's r × 100, Spearman's rho × 100, and a note: empty, or why both are 0 because none is defined.
    """
    reasons = {
        "a single pair": len(scores) < 2,
        "all similarities are equal": is_constant(similarities),
        "all human scores are equal": is_constant(scores),
    }
    for reason, holds in reasons.items():
        if holds:
            return 0.0, 0.0, f"{reason}: no correlation is defined, counted as 0"
    return 100.0 * pearson(similarities, scores), 100.0 * spearman(similarities, scores), ""


def is_constant(x: np.ndarray) -> bool:
    """Returns whether all values are equal up to rounding, so that no correlation with them is defined."""
    x = np.asarray(x, dtype=np.float64)
    return len(x) < 2 or bool(np.ptp(x) <= 1e-12 * max(1.0, float(np.abs(x).max())))

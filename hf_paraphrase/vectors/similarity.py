"""Unit rows, cosines, correlations and average precision, and checks of vectors."""

from __future__ import annotations

from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, ModelError, UsageError
from ..settings import Option

_SMALL, _LARGE = 1e-15, 1e18
"""Between these norms all squares fit into single precision."""
_PAIRS_PER_BLOCK = 8192


def check_counts(**counts: Any) -> None:
    """Refuse arguments that are not integers of at least 1, booleans included."""
    for name, value in counts.items():
        if not isinstance(value, Integral) or isinstance(value, bool):
            raise UsageError(f"{name} is {value!r}, not a whole number", remedy="give a whole number of at least 1")
        Option(at_least=1).check(name, value)


def check_finite(name: str, vectors: NDArray[Any], first: int = 0, *, path: Path | None = None) -> None:
    """Refuse NaN and infinity; the error calls the rows `name` and counts them from `first`."""
    if vectors.dtype.kind == "f" and not np.isfinite(vectors).all():
        row = first + (int(np.argwhere(~np.isfinite(vectors))[0][0]) if vectors.ndim > 1 else 0)
        what = f"{name} with NaN or infinity, the first in row {row} (from 0)"
        raise InputError(what, path=path, remedy="encode the texts again, or leave these out")


def checked_vectors(vectors: np.ndarray, count: int) -> np.ndarray:
    """Return the vectors of an encoder; refuse vectors that are not finite or not of shape (count, dim)."""
    vectors = np.asarray(vectors)
    if vectors.ndim != 2 or len(vectors) != count:
        raise ModelError(f"the encoder returned an array of shape {vectors.shape} for {count} texts")
    bad = int((~np.isfinite(vectors).all(axis=1)).sum())
    if bad:
        raise ModelError(f"NaN or infinity in the vectors of {bad} of {count} texts", remedy="use another encoder")
    return vectors


def as_array(vectors: Any) -> NDArray[Any]:
    """Return vectors as an array; NumPy reads neither bfloat16 nor tensors with gradients."""
    return vectors.detach().float().cpu().numpy() if hasattr(vectors, "detach") else np.asarray(vectors)


def unit_rows(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Divide each row (rows, dim) by its Euclidean norm, in single precision. Zero rows stay zero."""
    with np.errstate(over="ignore"):
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    units = (vectors / np.where(norms == 0, 1.0, norms)).astype(np.float32)
    # The squares of very large and very small numbers leave single precision.
    extreme = np.flatnonzero(~((norms > _SMALL) & (norms < _LARGE)))
    if len(extreme):
        rows = vectors[extreme].astype(np.float64)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        units[extreme] = rows / np.where(lengths == 0, 1.0, lengths)
    return units


def exact_unit_rows(vectors: NDArray[np.floating], name: str = "vectors", first: int = 0) -> NDArray[np.float64]:
    """Divide each row (rows, dim) by its Euclidean norm, in double precision. Zero rows stay zero.

    Rows with NaN or infinity are refused; the error calls the rows `name` and counts them from `first`.
    """
    exact = np.array(vectors, np.float64)
    lengths = np.sqrt(np.einsum("ij,ij->i", exact, exact))
    check_finite(name, lengths[:, None], first, path=getattr(vectors, "filename", None))
    exact /= np.where(lengths == 0, 1.0, lengths)[:, None]
    return exact


def unit_row_cosines(first: NDArray[np.floating], second: NDArray[np.floating]) -> NDArray[np.float64]:
    """Compute the cosine of each pair of rows (pairs, dim) that have length 1 or 0, in double precision.

    A matrix product rounds differently for matrices of different sizes. Here the cosine of a pair does not depend on
    the other pairs.
    """
    cosines = np.empty(len(first))
    for start in range(0, len(first), _PAIRS_PER_BLOCK):
        rows = slice(start, start + _PAIRS_PER_BLOCK)
        products = np.multiply(first[rows], second[rows], dtype=np.float64)
        cosines[rows] = np.ascontiguousarray(products).sum(axis=1)
    return np.clip(cosines, -1.0, 1.0)


def cosine_similarities(first: np.ndarray, second: np.ndarray) -> NDArray[np.float64]:
    """Compute the cosine of each pair of rows (pairs, dim) of any length, in double precision; 0 for a zero row."""
    count = len(first)
    first, second = (checked_vectors(side, count).astype(np.float64) for side in (first, second))
    if first.shape != second.shape:
        raise ModelError(f"the encoder returned arrays of different shapes, {first.shape} and {second.shape}")
    products = np.einsum("nd,nd->n", first, second)
    norms = np.linalg.norm(first, axis=1) * np.linalg.norm(second, axis=1)
    return np.divide(products, norms, out=np.zeros_like(products), where=norms > 0)


def float32_error(dimension: int) -> float:
    """Return a bound on the error of a product of unit vectors in single precision."""
    return 2.0**-22 * (dimension + 4)


def pearson(x: np.ndarray, y: np.ndarray) -> float:
    """Compute Pearson's r of two arrays (n,); 0 if either is constant or shorter than two."""
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if is_constant(x) or is_constant(y):
        return 0.0
    x, y = x - x.mean(), y - y.mean()
    # Scaling first keeps the squares of very small deviations from underflowing.
    x, y = x / np.abs(x).max(), y / np.abs(y).max()
    return float(np.clip(x @ y / np.sqrt((x @ x) * (y @ y)), -1.0, 1.0))


def spearman(x: np.ndarray, y: np.ndarray) -> float:
    """Compute Spearman's rho of two arrays (n,): Pearson's r of the ranks, with the mean rank for ties."""
    from scipy.stats import rankdata

    return pearson(rankdata(x), rankdata(y))


def average_precision(similarities: np.ndarray, labels: np.ndarray) -> float:
    """Compute the average precision of similarities (n,) for labels of 1 and 0 (n,); ties share one threshold."""
    order = np.argsort(-similarities, kind="stable")
    hits, ends = labels[order].cumsum(), np.flatnonzero(np.diff(similarities[order], append=-np.inf))
    if not len(hits) or not hits[-1]:
        return 0.0
    hits_at_ends = hits[ends]
    return float((np.diff(hits_at_ends, prepend=0) / hits[-1] * hits_at_ends / (ends + 1)).sum())


def correlations(similarities: np.ndarray, scores: np.ndarray) -> tuple[float, float, str]:
    """Correlate similarities with human scores, both arrays (n,).

    Returns:
        Pearson's r × 100, Spearman's rho × 100, and a note: empty, or the reason for two zeros.
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
    """Return whether all values are equal up to rounding, so that no correlation with them is defined."""
    x = np.asarray(x, dtype=np.float64)
    return len(x) < 2 or bool(np.ptp(x) <= 1e-12 * max(1.0, float(np.abs(x).max())))

"""The n best targets of some sources on a GPU."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from ...encoders.search.vector_file import VectorFile
from .running_best import unit_vectors

_TARGETS_AT_A_TIME = 65_536
_SPARE = 32
_ACCUMULATION = 2.0**-22
_CELLS_AT_A_TIME = 1 << 24


def best_on_device(
    sources: NDArray[np.float32], target_vectors: NDArray[np.float32] | VectorFile, n: int, device: str
) -> tuple[tuple[NDArray[np.int64], NDArray[np.float32]], NDArray[np.bool_]]:
    """Compares sources with all targets in float32, keeps a few more than n, and settles these in double precision.

    Args:
        sources: float32 (sources, dim).
        target_vectors: float32 (targets, dim).
        n: How many are wanted, at most as many as there are targets.
        device: Where to compute.

    Returns:
        Rows and cosines (sources, n), the best first, of equal ones the lower row; and of which sources they are
        certain (sources,): of the others more targets than were kept might be as good as the n-th.

    Raises:
        ValueError: If a vector is not finite.
    """
    kept = min(n + _SPARE, len(target_vectors))
    left = torch.from_numpy(unit_vectors(sources)).to(device)
    cosines = torch.empty((len(sources), 0), device=device)
    rows = torch.empty((len(sources), 0), dtype=torch.int64, device=device)
    vectors = torch.empty((len(sources), 0), dtype=torch.float64, device=device)
    for start in range(0, len(target_vectors), _TARGETS_AT_A_TIME):
        block = np.asarray(target_vectors[start : start + _TARGETS_AT_A_TIME], np.float32)
        right = torch.from_numpy(unit_vectors(block)).to(device)
        values, places = torch.topk(left.float() @ right.float().T, min(kept, len(block)), dim=1)
        exact = _exact(left, right, places)
        cosines = torch.cat([cosines, values], dim=1)
        rows = torch.cat([rows, places + start], dim=1)
        vectors = torch.cat([vectors, exact], dim=1)
        cosines, order = torch.sort(cosines, dim=1, descending=True)
        order = order[:, :kept]
        cosines, rows, vectors = cosines[:, :kept], rows.gather(1, order), vectors.gather(1, order)
    exact_cosines, found = vectors.cpu().numpy(), rows.cpu().numpy()
    by_cosine = np.lexsort((found, -exact_cosines), axis=1)[:, :n]
    best = np.take_along_axis(exact_cosines, by_cosine, 1)
    error = _ACCUMULATION * sources.shape[1]
    lowest = cosines[:, -1].cpu().double().numpy()
    sure = (lowest + error < best[:, -1]) if kept < len(target_vectors) else np.ones(len(sources), bool)
    return (np.take_along_axis(found, by_cosine, 1), np.clip(best, -1, 1).astype(np.float32)), sure


def _exact(left: torch.Tensor, right: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
    """Computes the cosines of the sources (sources, dim) with chosen targets (sources, n) in double precision."""
    exact = torch.empty(places.shape, dtype=torch.float64, device=left.device)
    step = max(1, _CELLS_AT_A_TIME // max(1, places.shape[1] * left.shape[1]))
    for first in range(0, len(left), step):
        part = slice(first, first + step)
        exact[part] = torch.einsum("ij,ikj->ik", left[part], right[places[part]])
    return exact

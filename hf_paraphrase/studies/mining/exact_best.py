"""The exact n best targets of some sources, from products of few bits and a rescoring of what they let through.

A product in bfloat16 is 2 to 4 times as fast as one in float32 and off by up to half a hundredth. So it only rules
out: with a bound e on what it can be off, a target whose rounded cosine is below t − e cannot have a cosine of t.
While blocks of targets go by, t is the n-th best cosine of those seen so far; the few that are not ruled out are
computed again in double precision, and the result is the same as if all had been. A GPU keeps a few more than n in
float32 instead.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from ...encoders.search.vector_file import VectorFile

PRECISIONS = ("bfloat16", "float32")
_KEYS: dict[str, type[np.signedinteger]] = {"bfloat16": np.int16, "float32": np.int32}
_ROUNDOFF = {"bfloat16": 2.0**-9, "float32": 2.0**-24}
_ACCUMULATION = 2.0**-22
_PAIRS_AT_A_TIME = 128
_BYTES_OF_A_WORD = 8
_TARGETS_AT_A_TIME = 65_536
_SPARE = 32
_CELLS_AT_A_TIME = 1 << 24


def default_precision() -> str:
    """Returns the type in which this processor multiplies fastest: bfloat16 where it has instructions for it."""
    for name in ("_is_avx512_bf16_supported", "_is_amx_tile_supported"):
        supported = getattr(torch.cpu, name, None)
        if supported is not None and supported():
            return "bfloat16"
    return "float32"


@dataclass(frozen=True)
class UnitBlock:
    """Consecutive vectors of length 1 or 0, exact and rounded.

    Attributes:
        exact: (rows, dim), float64.
        rounded: (rows, dim), in the type of the products.
        lost: The length of what rounding took from each (rows,).
        greatest: The greatest length of a rounded vector.
    """

    first: int
    exact: NDArray[np.float64]
    rounded: torch.Tensor
    lost: NDArray[np.float64]
    greatest: float

    @classmethod
    def of(cls, first: int, vectors: NDArray[np.float32], precision: str) -> UnitBlock:
        """Brings vectors (rows, dim) to length 1, except those of length 0, and rounds them."""
        exact = unit_vectors(vectors)
        rounded = torch.from_numpy(exact).to(getattr(torch, precision))
        back = rounded.double().numpy()
        greatest = float(np.sqrt(np.einsum("ij,ij->i", back, back).max(initial=0.0)))
        back -= exact
        return cls(first, exact, rounded, np.sqrt(np.einsum("ij,ij->i", back, back)), greatest)

    def __len__(self) -> int:
        return len(self.exact)


def unit_vectors(vectors: NDArray[np.float32]) -> NDArray[np.float64]:
    """Divides each row (rows, dim) by its length in double precision; zero rows stay zero."""
    exact = vectors.astype(np.float64)
    lengths = np.sqrt(np.einsum("ij,ij->i", exact, exact))
    if not np.isfinite(lengths).all():
        raise ValueError("a vector is not finite")
    exact /= np.where(lengths == 0, 1.0, lengths)[:, None]
    return exact


class RunningBest:
    """The n best targets of each source among the blocks of targets that it has seen.

    Args:
        sources: Some sources; a few hundred, so that a block of products stays in the processor's cache.
        n: How many are kept of each.
        precision: The type of the products, one of :data:`PRECISIONS`.
    """

    def __init__(self, sources: UnitBlock, n: int, precision: str) -> None:
        self.sources = sources
        self.n = n
        self._key_type = _KEYS[precision]
        self._roundoff = _ROUNDOFF[precision]
        self._source = np.empty(0, np.int32)
        self._row = np.empty(0, np.int64)
        self._cosine = np.empty(0, np.float64)
        self._new: list[tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.float64]]] = []
        self._waiting = 0
        self._worst = np.full(len(sources), -np.inf)

    def look(self, targets: UnitBlock, buffer: torch.Tensor, mask: NDArray[np.bool_]) -> None:
        """Compares all sources with a block of targets, later ones than those seen before.

        Args:
            targets: The block.
            buffer: Room for the products, at least (sources × targets) elements.
            mask: Room for as many flags.
        """
        shape = (len(self.sources), len(targets))
        products = buffer[: shape[0] * shape[1]].view(shape)
        torch.mm(self.sources.rounded, targets.rounded.T, out=products)
        error = self._error_bound(targets)
        keys = products.view(getattr(torch, np.dtype(self._key_type).name)).numpy()
        full = np.isfinite(self._worst)
        least = self._worst - error
        if not full.all() and shape[1] > self.n:
            # What n of this block reach is no more than e above the n-th best cosine. Above 1 rounding is coarser.
            place = shape[1] - self.n
            reached = np.partition(products.float().numpy(), place, axis=1)[:, place].clip(max=1.0)
            least = np.maximum(least, reached.astype(np.float64) - 2 * error)
        is_candidate = self._not_below(keys, products.dtype, least, mask)
        source, column = np.divmod(is_candidate, shape[1])
        self._new.append((source.astype(np.int32), column + targets.first, self._cosines(source, column, targets)))
        self._waiting += len(is_candidate)
        # Each merge costs a sort and raises what the rest must reach.
        if not full.all() or self._waiting > len(self._row):
            self._merge()

    def result(self) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Returns rows and cosines, (sources, n) each, the best first, of equal ones the lower row."""
        self._merge()
        shape = (len(self.sources), self.n)
        return self._row.reshape(shape), self._cosine.astype(np.float32).reshape(shape)

    def _error_bound(self, targets: UnitBlock) -> NDArray[np.float64]:
        """Bounds how far a rounded cosine can be from the true one, (sources,), after Cauchy and Schwarz."""
        # A product above 1 is rounded by up to twice as much, but not to below 1, which no cosine is above.
        sides = self.sources.lost + self.sources.greatest * targets.lost.max(initial=0.0)
        return 1.01 * sides + self._roundoff + _ACCUMULATION * self.sources.exact.shape[1]

    def _not_below(
        self, keys: NDArray[np.integer], kind: torch.dtype, least: NDArray[np.float64], mask: NDArray[np.bool_]
    ) -> NDArray[np.int64]:
        """Finds the places, in the flat matrix, of the products that reach a value of their source."""
        size = keys.size
        limits = _keys_below(least, kind, self._key_type)
        if limits.min(initial=1) <= 0:
            keys, limits = _sortable(keys), _sortable(limits)
            limits[~np.isfinite(least)] = np.iinfo(self._key_type).min
        flags = mask[:size]
        np.greater_equal(keys, limits[:, None], out=flags.reshape(keys.shape))
        if size % _BYTES_OF_A_WORD:
            return np.flatnonzero(flags)
        # Nearly all flags are off: looking at eight at a time is as many times as fast.
        words = np.flatnonzero(flags.view(np.uint64) != 0)
        word, byte = np.nonzero(flags.reshape(-1, _BYTES_OF_A_WORD)[words])
        return words[word] * _BYTES_OF_A_WORD + byte

    def _cosines(
        self, source: NDArray[np.int64], column: NDArray[np.int64], targets: UnitBlock
    ) -> NDArray[np.float64]:
        cosines = np.empty(len(source))
        # Few enough for the cache; and room that is used again, because new room costs more than the arithmetic.
        left, right = np.empty((2, _PAIRS_AT_A_TIME, targets.exact.shape[1]))
        for start in range(0, len(source), _PAIRS_AT_A_TIME):
            part = slice(start, start + _PAIRS_AT_A_TIME)
            number = len(cosines[part])
            np.take(self.sources.exact, source[part], axis=0, out=left[:number], mode="clip")
            np.take(targets.exact, column[part], axis=0, out=right[:number], mode="clip")
            np.einsum("ij,ij->i", left[:number], right[:number], out=cosines[part])
        return np.clip(cosines, -1.0, 1.0, out=cosines)

    def _merge(self) -> None:
        if not self._new:
            return
        source = np.concatenate([self._source, *(item[0] for item in self._new)])
        row = np.concatenate([self._row, *(item[1] for item in self._new)])
        cosine = np.concatenate([self._cosine, *(item[2] for item in self._new)])
        self._new, self._waiting = [], 0
        # Stable, and of one source lower rows stand first, so they stay first among equal cosines.
        order = np.lexsort((-cosine, source))
        counts = np.bincount(source, minlength=len(self.sources))
        starts = np.cumsum(counts) - counts
        kept = order[np.arange(len(order)) - np.repeat(starts, counts) < self.n]
        sizes = np.minimum(counts, self.n)
        self._source, self._row, self._cosine = source[kept], row[kept], cosine[kept]
        full = sizes == self.n
        self._worst[full] = self._cosine[(np.cumsum(sizes) - 1)[full]]


def _sortable(keys: NDArray[np.integer]) -> NDArray[np.integer]:
    """Maps the bits of floating-point numbers to integers of the same order, negative ones included."""
    bits = np.iinfo(keys.dtype).bits - 1
    return keys ^ ((keys >> bits) & np.iinfo(keys.dtype).max)


def _keys_below(
    values: NDArray[np.float64], kind: torch.dtype, key_type: type[np.signedinteger]
) -> NDArray[np.integer]:
    """Returns the bits of a number of the products' type a little below each value; any for infinite ones."""
    rounded = torch.from_numpy(np.where(np.isfinite(values), values, -2.0)).to(kind)
    bits = rounded.view(getattr(torch, np.dtype(key_type).name)).numpy()
    # One step down, because rounding may have gone up: the bits of a negative number grow as it falls, and there are
    # two zeros, both equal to any zero among the products.
    zero = (bits == 0) | (bits == np.iinfo(key_type).min)
    return np.where(zero, np.iinfo(key_type).min + 1, bits + np.where(bits > 0, -1, 1)).astype(key_type)


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
    exact_cosines, exact_rows = vectors.cpu().numpy(), rows.cpu().numpy()
    by_cosine = np.lexsort((exact_rows, -exact_cosines), axis=1)[:, :n]
    best = np.take_along_axis(exact_cosines, by_cosine, 1)
    error = _ACCUMULATION * sources.shape[1]
    lowest = cosines[:, -1].cpu().double().numpy()
    sure = (lowest + error < best[:, -1]) if kept < len(target_vectors) else np.ones(len(sources), bool)
    return (np.take_along_axis(exact_rows, by_cosine, 1), np.clip(best, -1, 1).astype(np.float32)), sure


def _exact(left: torch.Tensor, right: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
    """Computes the cosines of the sources (sources, dim) with chosen targets (sources, n) in double precision."""
    exact = torch.empty(places.shape, dtype=torch.float64, device=left.device)
    step = max(1, _CELLS_AT_A_TIME // max(1, places.shape[1] * left.shape[1]))
    for first in range(0, len(left), step):
        part = slice(first, first + step)
        exact[part] = torch.einsum("ij,ikj->ik", left[part], right[places[part]])
    return exact

"""Finds texts that repeat an earlier text: exactly, then by the cosine of an encoder's vectors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..data.batch_function import no_progress
from ..encoders.search_embedder import SearchEmbedder
from ..text.hashing import hash_rows
from ..text.normalization import are_visible, as_string_array, normalize_texts
from ..threads import available_cores, mapped_in_order, one_blas_thread
from ..vectors.ivf_index import IvfIndex, PlacedVectors
from ..vectors.similarity import unit_row_cosines
from .contrasts import Contrasts

if TYPE_CHECKING:
    from ..encoders.sentence_encoder import SentenceEncoder

_SAMPLED_TEXTS = 30_000
_CHECKED_TEXTS = 1000
_CHECKED_AT_A_TIME = 50
_BLOCK_TEXTS = 8192
_ROWS_AT_A_TIME = 256
_CHECKED_NEIGHBORS = 20
_Chosen = tuple[NDArray[np.int64], list[str]]
_Embedded = tuple[NDArray[np.int64], NDArray[np.float32]]


@dataclass(frozen=True)
class Duplicates:
    """The result of a comparison. Texts are numbered from 0, the texts of `earlier` first.

    Attributes:
        num_earlier: Number of `earlier` texts, which are all kept.
        representatives: For a removed text the number of its representative, else -1 (texts,).
        similarities: The cosine to the representative, 1 for the same text; 0 for a kept text (texts,).
        counts: Numbers of `exact` and `near` duplicates, and of texts `without_text` or with `unknown_words` only. If
            the comparison was approximate, also the size of a sample of kept texts that was `checked` exactly, and the
            number of near duplicates `missed` in it.
        below: For a sample of kept texts, the pair with the nearest earlier kept text and their cosine, if it is at
            most 0.1 below the threshold.
        contrasts: Pairs of near texts that are both kept because they differ only in negation or numbers, with their
            cosine.
    """

    num_earlier: int
    representatives: NDArray[np.int64]
    similarities: NDArray[np.float64]
    counts: dict[str, int]
    below: list[tuple[int, int, float]]
    contrasts: list[tuple[int, int, float]]

    @property
    def kept(self) -> NDArray[np.bool_]:
        """Mask of the new texts that are kept (new texts,)."""
        return self.representatives[self.num_earlier :] < 0


def find_duplicates(
    texts: pa.ChunkedArray,
    encoder: SentenceEncoder,
    *,
    earlier: pa.ChunkedArray | None = None,
    threshold: float = 0.9,
    components: bool = False,
    keep_contrasts: bool = True,
    batch_size: int = 256,
    progress: Callable[[int], object] = no_progress,
) -> Duplicates:
    """Find for each text the first earlier kept text that is the same or near; if there is one, it is a duplicate.

    Texts are the same if they differ only in case and white space.

    Args:
        texts: The texts; a null or blank text has no duplicates.
        encoder: The encoder of the cosines.
        earlier: Texts that come before and are all kept.
        threshold: Minimum cosine of near texts.
        components: Whether a chain of near texts is one cluster, of which only the first text is kept.
        keep_contrasts: Whether texts that differ only in negation or numbers never count as near; see
            :mod:`.contrasts`.
        batch_size: Texts in a padded batch of the encoder.
        progress: Called with the number of texts done since the last call.
    """
    every = texts if earlier is None else pa.chunked_array([*earlier.chunks, *texts.chunks], pa.string())
    num_earlier = len(every) - len(texts)
    with closing(
        mapped_in_order(lambda block: _hash_texts(block[1]), _iterate_blocks(every), available_cores())
    ) as parts:
        keys = np.concatenate([np.empty(0, np.uint64), *parts])
    rows = np.arange(len(keys))
    _, firsts, groups = np.unique(keys, return_index=True, return_inverse=True)
    same = np.where(keys == 0, rows, firsts[groups])
    new = np.flatnonzero((same == rows) & (keys != 0))
    contrasts = Contrasts(every) if keep_contrasts else None
    comparison = _Comparison(encoder, batch_size, len(keys), num_earlier, contrasts)
    progress(len(keys) - len(new))
    if len(new):
        sample = new[np.linspace(0, len(new) - 1, min(_SAMPLED_TEXTS, len(new))).astype(np.int64)]
        sampled = [vectors for _, vectors in map(comparison.embed, _read_texts(every, sample))]
        with one_blas_thread():
            comparison.near = IvfIndex(np.concatenate(sampled), threshold, len(new))
            for all_kept, some in ((True, new[new < num_earlier]), (False, new[new >= num_earlier])):
                for block in map(comparison.embed, _read_texts(every, some)):
                    comparison.add(*block, components=components, all_kept=all_kept)
                    progress(len(block[0]))
            comparison.finish_components()
            comparison.count_contrasts(threshold)
            comparison.sample_below(threshold)
    representatives, similarities = comparison.representatives, comparison.similarities
    repeated = np.flatnonzero(same != rows)
    of_same = representatives[same[repeated]]
    representatives[repeated] = np.where(of_same < 0, same[repeated], of_same)
    similarities[repeated] = np.where(of_same < 0, 1.0, similarities[same[repeated]])
    representatives[:num_earlier], similarities[:num_earlier] = -1, 0.0
    exact = int((repeated >= num_earlier).sum())
    counts = {"exact": exact, "near": int((representatives >= 0).sum()) - exact}
    counts["without_text"] = int((keys[num_earlier:] == 0).sum())
    return Duplicates(
        num_earlier, representatives, similarities, counts | comparison.counts, comparison.below, comparison.contrasts
    )


def _iterate_blocks(texts: pa.ChunkedArray) -> Iterator[tuple[int, pa.Array]]:
    """Yield blocks of texts, each with the row of its first text."""
    for start in range(0, len(texts), _BLOCK_TEXTS):
        yield start, as_string_array(texts.slice(start, _BLOCK_TEXTS))


def _hash_texts(texts: pa.Array) -> NDArray[np.uint64]:
    """Hash texts (texts,); the hash of a text without visible characters is 0."""
    # Two of a million different texts share 64 bits with a probability of 3e-8.
    keys = np.maximum(hash_rows(normalize_texts(texts)), np.uint64(1))
    return np.where(are_visible(texts), keys, np.uint64(0))


def _read_texts(texts: pa.ChunkedArray, rows: NDArray[np.int64]) -> Iterator[_Chosen]:
    """Yield the texts of some rows (rows,), ascending, in blocks."""
    for start, block in _iterate_blocks(texts):
        first, stop = np.searchsorted(rows, (start, start + len(block)))
        if stop > first:
            yield rows[first:stop], block.take(pa.array(rows[first:stop] - start)).to_pylist()


class _Comparison:
    """Compares the vectors of texts with the vectors of earlier texts, and records the representative of each."""

    near: IvfIndex

    def __init__(
        self, encoder: SentenceEncoder, batch_size: int, num_texts: int, num_earlier: int, contrasts: Contrasts | None
    ) -> None:
        self._embedder, self._batch_size, self._num_earlier = SearchEmbedder(encoder), batch_size, num_earlier
        self.representatives = np.full(num_texts, -1, np.int64)
        self.similarities = np.zeros(num_texts)
        self.counts = {"unknown_words": 0}
        self.below: list[tuple[int, int, float]] = []
        self.contrasts: list[tuple[int, int, float]] = []
        self._contrasts, self._lock = contrasts, Lock()
        # The first text that a text contrasts with, and the first text of its component.
        self._contrast_of = np.full(num_texts, num_texts, np.int64)
        self._parents = np.arange(num_texts)
        self._added = np.empty(num_texts, np.int64)

    def embed(self, block: _Chosen) -> _Embedded:
        """Embed the texts of some rows as float32 (texts, dim), of length 1 or 0."""
        rows, texts = block
        return rows, self._embedder.embed(texts, batch_size=self._batch_size)

    def add(self, rows: NDArray[np.int64], vectors: NDArray[np.float32], *, components: bool, all_kept: bool) -> None:
        """Compare vectors (rows, dim) of some texts (rows,) with the vectors of all earlier texts."""
        has_words = vectors.any(axis=1)
        self.counts["unknown_words"] += int((~has_words & (rows >= self._num_earlier)).sum())
        rows, placed = rows[has_words], self.near.place(vectors[has_words])
        if components:
            self._link(rows, placed)
        elif not all_kept:
            self._find_near(rows, placed)
        kept = np.flatnonzero(self.representatives[rows] < 0)
        self.near.add(placed, kept)
        self._added[self.near.count - len(kept) : self.near.count] = rows[kept]

    def _differ(self, later: NDArray[np.int64], earlier: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which pairs of texts are contrasts, and record the first contrast of each text."""
        if self._contrasts is None or not len(later):
            return np.zeros(len(later), bool)
        with self._lock:
            differ = self._contrasts.differ(later, earlier)
            np.minimum.at(self._contrast_of, later[differ], earlier[differ])
        return differ

    def _find_near(self, rows: NDArray[np.int64], placed: PlacedVectors) -> None:
        """Record for each duplicate among the rows the first near kept text."""
        options: dict[str, Any] = {
            "skip": lambda later, before: self._differ(rows[later], rows[before]),
            "group": lambda later, before: later,
        }
        near = self.near.near(
            placed, skip=lambda new, old: self._differ(rows[new], self._added[old]), group=options["group"]
        )
        self._record(rows, *near, self._added)
        for start in range(0, len(rows), _ROWS_AT_A_TIME):
            kept = np.flatnonzero(self.representatives[rows[: start + _ROWS_AT_A_TIME]] < 0)
            own, before = kept[kept >= start], kept[kept < start]
            self._record(rows, *self.near.near_within(placed, own, before, **options), rows)
            own = own[self.representatives[rows[own]] < 0]
            later, before, cosines = self.near.near_within(placed, own, own, skip=options["skip"])
            order = np.lexsort((before, later))
            pairs = zip(
                rows[later[order]].tolist(), rows[before[order]].tolist(), cosines[order].tolist(), strict=True
            )
            for one, other, cosine in pairs:
                if self.representatives[one] < 0 and self.representatives[other] < 0:
                    self.representatives[one], self.similarities[one] = other, cosine

    def _record(
        self,
        rows: NDArray[np.int64],
        new: NDArray[np.int64],
        old: NDArray[np.int64],
        cosines: NDArray[np.float64],
        texts: NDArray[np.int64],
    ) -> None:
        """Record the first near text of each new row; `texts` maps the indices `old` to texts."""
        order = np.lexsort((old, new))
        firsts = order[np.unique(new[order], return_index=True)[1]]
        self.representatives[rows[new[firsts]]] = texts[old[firsts]]
        self.similarities[rows[new[firsts]]] = cosines[firsts]

    def _link(self, rows: NDArray[np.int64], placed: PlacedVectors) -> None:
        """Merge the components of near texts; all texts are added to the index."""

        def options(texts: NDArray[np.int64]) -> dict[str, Any]:
            def skip(new: NDArray[np.int64], old: NDArray[np.int64]) -> NDArray[np.bool_]:
                later, earlier = rows[new], texts[old]
                return (self._roots(later) == self._roots(earlier)) | self._differ(later, earlier)

            def group(new: NDArray[np.int64], old: NDArray[np.int64]) -> NDArray[np.int64]:
                return new * len(self._parents) + self._roots(texts[old])

            return {"skip": skip, "group": group}

        new, old, _ = self.near.near(placed, **options(self._added))
        self._join(rows[new], self._added[old])
        for start in range(0, len(rows), _ROWS_AT_A_TIME):
            stop = min(start + _ROWS_AT_A_TIME, len(rows))
            later, earlier, _ = self.near.near_within(placed, np.arange(start, stop), np.arange(stop), **options(rows))
            self._join(rows[later], rows[earlier])

    def _roots(self, texts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the first text of the component of each text (texts,)."""
        roots = self._parents[texts]
        while not np.array_equal(further := self._parents[roots], roots):
            roots = further
        return roots

    def _join(self, first: NDArray[np.int64], second: NDArray[np.int64]) -> None:
        """Merge the components of the two texts of each pair (pairs,)."""
        for one, other in zip(self._roots(first).tolist(), self._roots(second).tolist(), strict=True):
            while self._parents[one] != one:
                one = int(self._parents[one])
            while self._parents[other] != other:
                other = int(self._parents[other])
            self._parents[max(one, other)] = min(one, other)
        self._parents[first] = self._roots(first)

    def finish_components(self) -> None:
        """Record for each text the first text of its component as representative, and their cosine."""
        roots = self._roots(np.arange(len(self._parents)))
        linked = np.flatnonzero(roots != np.arange(len(roots)))
        self.representatives[linked] = roots[linked]
        for start in range(0, len(linked), _BLOCK_TEXTS):
            part = linked[start : start + _BLOCK_TEXTS]
            self.similarities[part] = self._cosines(part, roots[part])

    def _cosines(self, first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.float64]:
        """Compute the cosines of pairs of texts that were added (pairs,)."""
        positions = np.zeros(len(self.representatives), np.int64)
        positions[self._added[: self.near.count]] = np.arange(self.near.count)
        return unit_row_cosines(*(self.near.vectors(positions[side]) for side in (first, second)))

    def count_contrasts(self, threshold: float) -> None:
        """List the near texts that are both kept because they differ only in negation or numbers."""
        is_added = np.zeros(len(self.representatives) + 1, bool)
        is_added[self._added[: self.near.count]] = True
        is_added[:-1] &= self.representatives < 0
        first = np.flatnonzero(is_added[:-1] & is_added[self._contrast_of])
        for start in range(0, len(first), _BLOCK_TEXTS):
            some = first[start : start + _BLOCK_TEXTS]
            cosines = self._cosines(some, self._contrast_of[some])
            pairs = zip(some.tolist(), self._contrast_of[some].tolist(), cosines.tolist(), strict=True)
            self.contrasts += [pair for pair in pairs if pair[2] >= threshold]
        self.counts["contrasts"] = len(self.contrasts)

    def sample_below(self, threshold: float) -> None:
        """Find the nearest earlier kept text for a sample of kept texts, down to 0.1 below the threshold."""
        added = self._added[: self.near.count]
        sample = np.flatnonzero((self.representatives[added] < 0) & (added >= self._num_earlier))
        sample = sample[np.linspace(0, len(sample) - 1, min(_CHECKED_TEXTS, len(sample))).astype(np.int64)]
        for start in range(0, len(sample), _CHECKED_AT_A_TIME):
            some = sample[start : start + _CHECKED_AT_A_TIME]
            placed = self.near.place(self.near.vectors(some))

            def skip(new: NDArray[np.int64], old: NDArray[np.int64], some: NDArray[np.int64] = some) -> Any:
                skipped = (old >= some[new]) | (self.representatives[added[old]] >= 0)
                if self._contrasts is not None:
                    kept = np.flatnonzero(~skipped)
                    with self._lock:
                        skipped[kept] = self._contrasts.differ(added[some[new[kept]]], added[old[kept]])
                return skipped

            new, old, cosines = self.near.near(
                placed, threshold=max(0.0, threshold - 0.1), skip=skip, best=_CHECKED_NEIGHBORS
            )
            order = np.lexsort((old, -cosines, new))
            best = order[np.unique(new[order], return_index=True)[1]]
            rows = (added[some[new[best]]].tolist(), added[old[best]].tolist())
            self.below += zip(*rows, cosines[best].tolist(), strict=True)
        if len(sample) and not self.near.is_exact:
            missed = sum(cosine >= threshold for *_, cosine in self.below)
            self.counts |= {"checked": len(sample), "missed": missed}

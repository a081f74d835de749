"""Which texts say the same as earlier ones: exactly, then by the cosine of an encoder's vectors."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
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
    """What became of every text. Texts are numbered from 0, the texts of `earlier` first.

    Attributes:
        num_earlier: How many came before; they all stay.
        representatives: For a removed text the number of its representative, else -1 (texts,).
        similarities: The cosine to it, 1 for the same text; 0 for a text that stays (texts,).
        counts: How many texts go as `exact` and `near` duplicates, and how many are `without_text` or have
            `unknown_words` only; and, where not all were compared with all, for how many of those that stay this was
            `checked`, and of how many an earlier one that is near was `missed`.
        below: Of a sample of those that stay each with the nearest one before it that stays too, and their cosine,
            where it is at most 0.1 below the threshold.
        contrasts: Texts that stay although they are near an earlier text that stays, with it and their cosine: they
            differ in negation or numbers alone.
    """

    num_earlier: int
    representatives: NDArray[np.int64]
    similarities: NDArray[np.float64]
    counts: dict[str, int]
    below: list[tuple[int, int, float]]
    contrasts: list[tuple[int, int, float]]

    @property
    def kept(self) -> NDArray[np.bool_]:
        """Which of the new texts stay (new texts,)."""
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
    """Finds for each text the first one before it that stays and is the same or near; with such a one it goes.

    Args:
        texts: The texts; a null or blank one has no duplicates.
        encoder: Whose cosine decides where texts are not the same but for case and white space.
        earlier: Other texts, which come before and all stay.
        threshold: The least cosine of near texts.
        components: A chain of near texts is one cluster, and only its first text is kept.
        keep_contrasts: Texts that differ in negation or numbers alone are not near; see :mod:`.contrasts`.
        batch_size: Texts in a padded batch of the encoder.
        progress: Called with the number of texts done since the last call.
    """
    every = texts if earlier is None else pa.chunked_array([*earlier.chunks, *texts.chunks], pa.string())
    num_earlier = len(every) - len(texts)
    with closing(mapped_in_order(lambda block: _keys(block[1]), _blocks(every), available_cores())) as parts:
        keys = np.concatenate([np.empty(0, np.uint64), *parts])
    numbers = np.arange(len(keys))
    _, places, groups = np.unique(keys, return_index=True, return_inverse=True)
    same = np.where(keys == 0, numbers, places[groups])
    new = np.flatnonzero((same == numbers) & (keys != 0))
    contrasts = Contrasts(every) if keep_contrasts else None
    comparison = _Comparison(encoder, batch_size, len(keys), num_earlier, contrasts)
    if len(new):
        sample = new[np.linspace(0, len(new) - 1, min(_SAMPLED_TEXTS, len(new))).astype(np.int64)]
        sampled = [vectors for _, vectors in map(comparison.embedded, _chosen(every, sample))]
        with one_blas_thread():
            comparison.near = IvfIndex(np.concatenate(sampled), threshold, len(new))
            for all_stay, some in ((True, new[new < num_earlier]), (False, new[new >= num_earlier])):
                with closing(comparison.all_embedded(_chosen(every, some))) as blocks:
                    for rows, vectors in blocks:
                        comparison.add(rows, vectors, components=components, all_stay=all_stay)
                        progress(len(rows))
            comparison.finish_components()
            comparison.count_contrasts(threshold)
            comparison.look_below(threshold)
    representatives, similarities = comparison.representatives, comparison.similarities
    repeated = np.flatnonzero(same != numbers)
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


def _blocks(texts: pa.ChunkedArray) -> Iterator[tuple[int, pa.Array]]:
    """Streams texts with the number of the first of each block."""
    for start in range(0, len(texts), _BLOCK_TEXTS):
        yield start, as_string_array(texts.slice(start, _BLOCK_TEXTS))


def _keys(texts: pa.Array) -> NDArray[np.uint64]:
    """Computes a number for each text (texts,), 0 where there is none to be seen."""
    # Of a million texts two different ones share 64 bits with a probability of 3e-8.
    keys = np.maximum(hash_rows(normalize_texts(texts)), np.uint64(1))
    return np.where(are_visible(texts), keys, np.uint64(0))


def _chosen(texts: pa.ChunkedArray, rows: NDArray[np.int64]) -> Iterator[_Chosen]:
    """Streams the texts of some rows (rows,), ascending."""
    for start, block in _blocks(texts):
        first, stop = np.searchsorted(rows, (start, start + len(block)))
        if stop > first:
            yield rows[first:stop], block.take(pa.array(rows[first:stop] - start)).to_pylist()


def _parts(number: int) -> Iterator[slice]:
    for start in range(0, number, _ROWS_AT_A_TIME):
        yield slice(start, min(start + _ROWS_AT_A_TIME, number))


class _Comparison:
    """Compares the vectors of texts with the vectors of earlier texts, and notes the representative of each text."""

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

    def embedded(self, chosen: _Chosen) -> _Embedded:
        """Embeds the texts of some rows as float32 (texts, dim), of length 1 or 0."""
        rows, texts = chosen
        return rows, self._embedder.embed(texts, batch_size=self._batch_size)

    def all_embedded(self, chosen: Iterator[_Chosen]) -> Generator[_Embedded, None, None]:
        """Embeds block after block; with a table the next one while a block is compared."""
        if self._embedder.encoder.is_table:
            return mapped_in_order(self.embedded, chosen, 1)
        # A model takes all cores for many times as long, and in this thread an interrupt does not wait for it.
        return (self.embedded(block) for block in chosen)

    def add(self, rows: NDArray[np.int64], vectors: NDArray[np.float32], *, components: bool, all_stay: bool) -> None:
        """Compares vectors (rows, dim) of some texts (rows,) with the vectors of all earlier texts."""
        known = vectors.any(axis=1)
        self.counts["unknown_words"] += int((~known & (rows >= self._num_earlier)).sum())
        rows, placed = rows[known], self.near.place(vectors[known])
        if components:
            self._link(rows, placed)
        elif not all_stay:
            self._find_near(rows, placed)
        stay = np.flatnonzero(self.representatives[rows] < 0)
        self.near.add(placed, stay)
        self._added[self.near.count - len(stay) : self.near.count] = rows[stay]

    def _differ(self, later: NDArray[np.int64], earlier: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Returns which pairs of texts are contrasts, and notes the first one of each text."""
        if self._contrasts is None or not len(later):
            return np.zeros(len(later), bool)
        with self._lock:
            differ = self._contrasts.differ(later, earlier)
            np.minimum.at(self._contrast_of, later[differ], earlier[differ])
        return differ

    def _find_near(self, rows: NDArray[np.int64], placed: PlacedVectors) -> None:
        """Notes for each of the texts that go the first near one that stays."""

        def first_of_each(new: NDArray[np.int64], old: NDArray[np.int64]) -> NDArray[np.int64]:
            return new

        def differ_within(later: NDArray[np.int64], before: NDArray[np.int64]) -> NDArray[np.bool_]:
            return self._differ(rows[later], rows[before])

        self._note(
            rows,
            *self.near.near(
                placed, skip=lambda new, old: self._differ(rows[new], self._added[old]), group=first_of_each
            ),
            self._added,
        )
        for part in _parts(len(rows)):
            stay = np.flatnonzero(self.representatives[rows[: part.stop]] < 0)
            own, before = stay[stay >= part.start], stay[stay < part.start]
            self._note(
                rows, *self.near.near_within(placed, own, before, skip=differ_within, group=first_of_each), rows
            )
            own = own[self.representatives[rows[own]] < 0]
            later, before, cosines = self.near.near_within(placed, own, own, skip=differ_within)
            order = np.lexsort((before, later))
            for one, other, pair in zip(
                rows[later[order]].tolist(), rows[before[order]].tolist(), order.tolist(), strict=True
            ):
                if self.representatives[one] < 0 and self.representatives[other] < 0:
                    self.representatives[one], self.similarities[one] = other, cosines[pair]

    def _note(
        self,
        rows: NDArray[np.int64],
        new: NDArray[np.int64],
        old: NDArray[np.int64],
        cosines: NDArray[np.float64],
        texts: NDArray[np.int64],
    ) -> None:
        """Notes of each new row the first near text; `texts` gives the text of an earlier number."""
        order = np.lexsort((old, new))
        firsts = order[np.unique(new[order], return_index=True)[1]]
        self.representatives[rows[new[firsts]]] = texts[old[firsts]]
        self.similarities[rows[new[firsts]]] = cosines[firsts]

    def _link(self, rows: NDArray[np.int64], placed: PlacedVectors) -> None:
        """Joins the components of near texts; all texts are kept, to be compared with."""
        total = len(self._parents)

        def skip(new: NDArray[np.int64], old: NDArray[np.int64]) -> NDArray[np.bool_]:
            later, earlier = rows[new], self._added[old]
            return (self._roots(later) == self._roots(earlier)) | self._differ(later, earlier)

        def skip_within(new: NDArray[np.int64], old: NDArray[np.int64]) -> NDArray[np.bool_]:
            later, earlier = rows[new], rows[old]
            return (self._roots(later) == self._roots(earlier)) | self._differ(later, earlier)

        def component(new: NDArray[np.int64], old: NDArray[np.int64]) -> NDArray[np.int64]:
            return new * total + self._roots(self._added[old])

        def component_within(new: NDArray[np.int64], old: NDArray[np.int64]) -> NDArray[np.int64]:
            return new * total + self._roots(rows[old])

        new, old, _ = self.near.near(placed, skip=skip, group=component)
        self._join(rows[new], self._added[old])
        for part in _parts(len(rows)):
            own, before = np.arange(part.start, part.stop), np.arange(part.stop)
            later, earlier, _ = self.near.near_within(placed, own, before, skip=skip_within, group=component_within)
            self._join(rows[later], rows[earlier])

    def _roots(self, texts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Returns the first text of the component of each text (texts,)."""
        roots = self._parents[texts]
        while not np.array_equal(further := self._parents[roots], roots):
            roots = further
        return roots

    def _join(self, first: NDArray[np.int64], second: NDArray[np.int64]) -> None:
        """Joins the components of pairs of texts (pairs,)."""
        for one, other in zip(self._roots(first).tolist(), self._roots(second).tolist(), strict=True):
            while self._parents[one] != one:
                one = int(self._parents[one])
            while self._parents[other] != other:
                other = int(self._parents[other])
            self._parents[max(one, other)] = min(one, other)
        self._parents[first] = self._roots(first)

    def finish_components(self) -> None:
        """Notes the first text of each component, and the cosine to it."""
        roots = self._roots(np.arange(len(self._parents)))
        linked = np.flatnonzero(roots != np.arange(len(roots)))
        self.representatives[linked] = roots[linked]
        for start in range(0, len(linked), _BLOCK_TEXTS):
            part = linked[start : start + _BLOCK_TEXTS]
            self.similarities[part] = self._cosines(part, roots[part])

    def _cosines(self, first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.float64]:
        """Computes the cosines of pairs of texts that were added (pairs,)."""
        places = np.zeros(len(self.representatives), np.int64)
        places[self._added[: self.near.count]] = np.arange(self.near.count)
        return unit_row_cosines(*(self.near.vectors(places[side]) for side in (first, second)))

    def count_contrasts(self, threshold: float) -> None:
        """Counts the texts that stay although they are near a text that stays: they differ in negation or numbers."""
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

    def look_below(self, threshold: float) -> None:
        """Finds the nearest earlier kept text of a sample of kept texts, down to 0.1 below the threshold."""
        added = self._added[: self.near.count]
        numbers = np.flatnonzero((self.representatives[added] < 0) & (added >= self._num_earlier))
        numbers = numbers[np.linspace(0, len(numbers) - 1, min(_CHECKED_TEXTS, len(numbers))).astype(np.int64)]
        for start in range(0, len(numbers), _CHECKED_AT_A_TIME):
            some = numbers[start : start + _CHECKED_AT_A_TIME]
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
        if len(numbers) and not self.near.is_exact:
            missed = sum(cosine >= threshold for *_, cosine in self.below)
            self.counts |= {"checked": len(numbers), "missed": missed}

"""Which texts say the same as earlier ones: exactly, then by the cosine of an encoder's vectors."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..data.batch_function import no_progress
from ..encoders.search_embedder import SearchEmbedder
from ..text.hashing import hash_rows
from ..text.normalization import are_visible, as_string_array, normalize_texts
from ..threads import available_cores, mapped_in_order, one_blas_thread
from ..vectors.ivf_index import NearVectors, PlacedVectors
from ..vectors.similarity import unit_row_cosines

if TYPE_CHECKING:
    from ..encoders.sentence_encoder import SentenceEncoder

_SAMPLED_TEXTS = 30_000
_CHECKED_TEXTS = 1000
_CHECKED_AT_A_TIME = 50
_BLOCK_TEXTS = 8192
_ROWS_AT_A_TIME = 1024
_MOST_EDGES = 4_000_000
_Chosen = tuple[NDArray[np.int64], list[str]]
_Embedded = tuple[NDArray[np.int64], NDArray[np.float32]]


@dataclass(frozen=True)
class Duplicates:
    """What became of every text. Texts are numbered from 0, those of `earlier` first.

    Attributes:
        num_earlier: How many came before; they all stay.
        representatives: For a text that goes the number of the one that stands for it, else -1 (texts,).
        similarities: The cosine to it, 1 for the same text; 0 for a text that stays (texts,).
        counts: How many texts go as `exact` and `near` duplicates, and how many are `without_text` or have
            `unknown_words` only; and, where not all were compared with all, for how many of those that stay this was
            `checked`, and of how many an earlier one that is near was `missed`.
        below: Of a sample of those that stay each with the nearest one before it that stays too, and their cosine,
            where it is at most 0.1 below the threshold.
    """

    num_earlier: int
    representatives: NDArray[np.int64]
    similarities: NDArray[np.float64]
    counts: dict[str, int]
    below: list[tuple[int, int, float]]

    @property
    def stays(self) -> NDArray[np.bool_]:
        """Which of the new texts stay (new texts,)."""
        return self.representatives[self.num_earlier :] < 0


def find_duplicates(
    texts: pa.ChunkedArray,
    encoder: SentenceEncoder,
    *,
    earlier: pa.ChunkedArray | None = None,
    threshold: float = 0.9,
    components: bool = False,
    batch_size: int = 256,
    progress: Callable[[int], object] = no_progress,
) -> Duplicates:
    """Finds for each text the first one before it that stays and is the same or near; with such a one it goes.

    Args:
        texts: The texts; a null or blank one has no duplicates.
        encoder: Whose cosine decides where texts are not the same but for case and white space.
        earlier: Other texts, which come before and all stay.
        threshold: The least cosine of near texts.
        components: Of texts that are linked by a chain of near ones only the first stays.
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
    comparison = _Comparison(encoder, batch_size, len(keys), num_earlier)
    if len(new):
        sample = new[np.linspace(0, len(new) - 1, min(_SAMPLED_TEXTS, len(new))).astype(np.int64)]
        sampled = [vectors for _, vectors in map(comparison.embedded, _chosen(every, sample))]
        with one_blas_thread():
            comparison.near = NearVectors(np.concatenate(sampled), threshold, len(new))
            for all_stay, some in ((True, new[new < num_earlier]), (False, new[new >= num_earlier])):
                with closing(comparison.all_embedded(_chosen(every, some))) as blocks:
                    for rows, vectors in blocks:
                        comparison.add(rows, vectors, components=components, all_stay=all_stay)
                        progress(len(rows))
            comparison.finish_components()
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
    return Duplicates(num_earlier, representatives, similarities, counts | comparison.counts, comparison.below)


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
    """Compares the vectors of texts with those before them, and notes which text stands for which."""

    near: NearVectors

    def __init__(self, encoder: SentenceEncoder, batch_size: int, num_texts: int, num_earlier: int) -> None:
        self._embedder, self._batch_size, self._num_earlier = SearchEmbedder(encoder), batch_size, num_earlier
        self.representatives = np.full(num_texts, -1, np.int64)
        self.similarities = np.zeros(num_texts)
        self.counts = {"unknown_words": 0}
        self.below: list[tuple[int, int, float]] = []
        self._added = np.empty(num_texts, np.int64)
        self._edges: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []

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
        """Compares vectors (rows, dim) of some texts (rows,) with those added before and those before them."""
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

    def _find_near(self, rows: NDArray[np.int64], placed: PlacedVectors) -> None:
        """Notes for each of the texts that go the first near one that stays."""
        new, old, cosines = self.near.near(placed)
        order = np.lexsort((old, new))
        _, firsts = np.unique(new[order], return_index=True)
        found = order[firsts]
        self.representatives[rows[new[found]]] = self._added[old[found]]
        self.similarities[rows[new[found]]] = cosines[found]
        for part in _parts(len(rows)):
            left = np.flatnonzero(self.representatives[rows[: part.stop]] < 0)
            later, before, cosines = self.near.near_within(placed, left[left >= part.start], left)
            order = np.lexsort((before, later))
            for one, other, pair in zip(
                rows[later[order]].tolist(), rows[before[order]].tolist(), order.tolist(), strict=True
            ):
                if self.representatives[one] < 0 and self.representatives[other] < 0:
                    self.representatives[one], self.similarities[one] = other, cosines[pair]

    def _link(self, rows: NDArray[np.int64], placed: PlacedVectors) -> None:
        """Notes all near pairs; all texts are kept, to be compared with."""
        new, old, _ = self.near.near(placed)
        self._edges.append((rows[new], self._added[old]))
        for part in _parts(len(rows)):
            later, before, _ = self.near.near_within(placed, np.arange(part.start, part.stop), np.arange(part.stop))
            self._edges.append((rows[later], rows[before]))
            if sum(len(one) for one, _ in self._edges) > _MOST_EDGES:
                self._connect()

    def _connect(self) -> None:
        """Replaces the pairs by one for each text, with the first text of its component."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        one, other = (np.concatenate(side) for side in zip(*self._edges, strict=True))
        size = len(self.representatives)
        graph = coo_array((np.ones(len(one), bool), (one, other)), shape=(size, size))
        labels = connected_components(graph, directed=False)[1]
        _, firsts = np.unique(labels, return_index=True)
        linked = np.flatnonzero(firsts[labels] != np.arange(size))
        self._edges = [(linked, firsts[labels[linked]])]

    def finish_components(self) -> None:
        """Notes the first text of each component, and the cosine to it."""
        if not self._edges:
            return
        self._connect()
        ((linked, firsts),) = self._edges
        self.representatives[linked] = firsts
        places = np.zeros(len(self.representatives), np.int64)
        places[self._added[: self.near.count]] = np.arange(self.near.count)
        for start in range(0, len(linked), _BLOCK_TEXTS):
            part = slice(start, start + _BLOCK_TEXTS)
            pairs = (self.near.vectors(places[side[part]]) for side in (linked, firsts))
            self.similarities[linked[part]] = unit_row_cosines(*pairs)

    def look_below(self, threshold: float) -> None:
        """Finds for a sample of those that stay the nearest one before that stays, to 0.1 below the threshold."""
        added = self._added[: self.near.count]
        numbers = np.flatnonzero((self.representatives[added] < 0) & (added >= self._num_earlier))
        numbers = numbers[np.linspace(0, len(numbers) - 1, min(_CHECKED_TEXTS, len(numbers))).astype(np.int64)]
        for start in range(0, len(numbers), _CHECKED_AT_A_TIME):
            some = numbers[start : start + _CHECKED_AT_A_TIME]
            placed = self.near.place(self.near.vectors(some))
            new, old, cosines = self.near.near(placed, everywhere=True, threshold=max(0.0, threshold - 0.1))
            is_other = (old < some[new]) & (self.representatives[added[old]] < 0)
            new, old, cosines = new[is_other], old[is_other], cosines[is_other]
            order = np.lexsort((old, -cosines, new))
            best = order[np.unique(new[order], return_index=True)[1]]
            rows = (added[some[new[best]]].tolist(), added[old[best]].tolist())
            self.below += zip(*rows, cosines[best].tolist(), strict=True)
        if len(numbers) and not self.near.is_exact:
            missed = sum(cosine >= threshold for *_, cosine in self.below)
            self.counts |= {"checked": len(numbers), "missed": missed}

"""The ids of runs that were met before, and where they may stand."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..data.arrow_arrays import set_of, text_array
from .token_ids import TokenIds, ranges

REMEMBERED = 1 << 18
"""Different runs that are remembered at most."""
REMEMBERED_CHARACTERS = 1 << 23
"""Characters of all different runs that are remembered at most."""
FREE, NOT_BEHIND, NOT_BEFORE = 0, 1, 2
"""May a run stand behind another, and before another?"""
_LENGTH, _START = 2, 32
"""The bits of a code before which the number of the ids stands, and the place where they begin."""
_LENGTHS = (1 << (_START - _LENGTH)) - 1
_NEW_SHARE = 8


class _Index(NamedTuple):
    """What is known of runs, for Arrow to look up."""

    runs: Any
    codes: NDArray[np.int64]


class KnownRuns:
    """The ids of runs, laid end to end as they were met.

    It only grows, and what is in its array stays there: who has the code of a run finds its ids in the array that is
    there afterwards. So several threads may use it at a time.

    A code is three numbers in one: where the ids of a run begin, how many they are, and where it may stand
    (:data:`FREE`, or :data:`NOT_BEHIND`, :data:`NOT_BEFORE`, or both).
    """

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}
        self._ids = np.zeros(1024, np.int32)
        self._end = 0
        self._characters = 0
        self._index: _Index | None = None
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._codes)

    @property
    def characters(self) -> int:
        """The number of characters of all runs."""
        return self._characters

    def codes(self, runs: Iterable[str]) -> list[int | None]:
        """Returns the codes of runs; None for those that are not known."""
        return list(map(self._codes.get, runs))

    def has_room_for(self, runs: Sequence[str]) -> bool:
        """Returns whether so many more may be remembered."""
        characters = self._characters + sum(map(len, runs))
        return len(self._codes) + len(runs) <= REMEMBERED and characters <= REMEMBERED_CHARACTERS

    def add(self, runs: list[str], ids: Sequence[Sequence[int]], places: Sequence[int]) -> None:
        """Adds different runs, their ids, and where they may stand."""
        token_ids = TokenIds.of_lists(ids)
        with self._lock:
            # Another thread may have met them at the same time: then their ids are there twice, and equal.
            first, self._end = self._end, self._end + len(token_ids.ids)
            if self._end > len(self._ids):
                larger = np.zeros(max(self._end, 2 * len(self._ids)), np.int32)
                larger[:first] = self._ids[:first]
                self._ids = larger
            self._ids[first : self._end] = token_ids.ids
            starts, lengths = (first + token_ids.offsets[:-1]).tolist(), token_ids.lengths.tolist()
            self._characters += sum(len(run) for run in runs if run not in self._codes)
            self._codes.update(
                (run, start << _START | length << _LENGTH | place)
                for run, start, length, place in zip(runs, starts, lengths, places, strict=True)
            )

    def index(self, most: int) -> _Index:
        """Passes the runs that have been known for a while to Arrow, or none where they are more than `most`.

        Arrow begins every search with a table of them, which does not pay for fewer runs than there are in it.
        """
        if len(self._codes) > most:
            return _index([])
        index = self._index
        if index is None or len(self._codes) - len(index.codes) > len(index.codes) // _NEW_SHARE:
            self._index = index = _index(list(self._codes.items()))
        return index

    def ids(self, codes: NDArray[np.int64], borders: NDArray[np.int64]) -> TokenIds:
        """Gathers the ids of texts.

        Args:
            codes: The codes of all runs (runs,).
            borders: For each text the place of its first run, and the number of all (texts + 1,).
        """
        lengths = codes >> _LENGTH & _LENGTHS
        ids = self._ids[ranges(codes >> _START, lengths)].astype(np.int64)
        ends = np.zeros(len(codes) + 1, np.int64)
        lengths.cumsum(out=ends[1:])
        return TokenIds(ids, ends[borders])

    def ids_of_few(self, codes: Iterable[int], counts: Iterable[int]) -> TokenIds:
        """Gathers the ids of texts one by one, which takes less time for few than the beginning of :meth:`ids`."""
        all_ids, codes = self._ids, iter(codes)
        ids: list[int] = []
        offsets = [0]
        for count in counts:
            for code in islice(codes, count):
                start, length = code >> _START, code >> _LENGTH & _LENGTHS
                if length == 1:
                    ids.append(all_ids.item(start))
                else:
                    ids += all_ids[start : start + length].tolist()
            offsets.append(len(ids))
        return TokenIds(np.array(ids, np.int64), np.array(offsets, np.int64))


def _index(items: list[tuple[str, int]]) -> _Index:
    return _Index(set_of(text_array([run for run, _ in items])), np.array([*(code for _, code in items), 0], np.int64))

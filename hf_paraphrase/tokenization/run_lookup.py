"""Runs between spaces to ids for a whole block of texts at once: each different run is looked up once.

A corpus has far fewer different runs than runs, and for most tokenizers the ids of a text are those of its runs, one
behind the other. So the runs are found and numbered in array operations, `tokenizers` is asked for the ids of those
that were not met before, and the ids of all are gathered. What was met stays known from call to call.

That is done only where it gives exactly the ids of `tokenizers`. Whether it does is decided in three steps:

* From the parts of the tokenizer, by :mod:`.separable_runs`; where they are not known to be safe there is no lookup.
* For each different run, when it is met: it must hold no added token, and end, once normalised, in a visible character
  that the next run does not change; and if it begins with a space it must do so once normalised. Where that is not so,
  the run cannot stand beside others.
* A text with such a run beside others is given to `tokenizers` whole.
"""

from __future__ import annotations

import re
import sys
import threading
import unicodedata
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .separable_runs import SPACE_MARK, keeps_ascii_visible, runs_are_separable
from .token_ids import TokenIds, ranges
from .tokenizer_parts import settings_of_part, tokens_around

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_REMEMBERED = 1 << 18
"""Different runs that are remembered at most."""
_REMEMBERED_CHARACTERS = 1 << 23
"""Characters of all different runs that are remembered at most."""
_FEW_TEXTS = 512
"""So many texts are taken apart faster by Python than by Arrow."""
_TEXTS_THAT_PAY = 1 << 16
"""About so many are taken apart by Python, call by call, before the import of Arrow would have taken less time."""
_FREE, _NOT_BEHIND, _NOT_BEFORE = 0, 1, 2
"""May a run stand behind another, and before another?"""
_runs_of = re.compile(" *[^ ]+| +").findall


class RunLookup:
    """Computes the ids that a tokenizer gives, for many texts at once.

    Made by :meth:`for_tokenizer`. Several threads may use it at a time: what it remembers is the same for all. It
    needs `tokenizers` and NumPy, and Arrow for many texts.

    Args:
        tokenizer: The tokenizer itself; it is given each different run once, and the texts that have exceptions.
        before: The ids of the special tokens before each text.
        behind: The ids of the special tokens behind it.
    """

    def __init__(self, tokenizer: Tokenizer, *, before: Sequence[int] = (), behind: Sequence[int] = ()) -> None:
        self.tokenizer = tokenizer
        self.before = np.array(before, np.int64)
        self.behind = np.array(behind, np.int64)
        self._normalize = None if tokenizer.normalizer is None else tokenizer.normalizer.normalize_str
        self._ascii_visible = keeps_ascii_visible(settings_of_part(tokenizer.normalizer))
        added = tokenizer.get_added_tokens_decoder()
        self._added_ids = frozenset(added)
        self._added = {token.content for token in added.values()}
        self._added |= {self._normalized(text) for text in self._added}
        self._known = _KnownRuns()
        self._texts = 0

    @classmethod
    def for_tokenizer(cls, tokenizer: Tokenizer, *, special_tokens: bool = False) -> RunLookup | None:
        """Makes the lookup of a tokenizer, or gives None where `tokenizers` must do the work.

        Args:
            tokenizer: The backend of a fast tokenizer; padding and truncation set on it are passed over, and switched
                off when it is used.
            special_tokens: Whether the ids of a text are to have the special tokens that the tokenizer adds to it.
        """
        around = tokens_around(tokenizer) if special_tokens else ((), ())
        if around is None or not runs_are_separable(tokenizer):
            return None
        before, behind = around
        return cls(tokenizer, before=before, behind=behind)

    def __call__(self, texts: Sequence[str]) -> TokenIds:
        """Computes the ids of some texts, without padding or truncation.

        Args:
            texts: The texts; pass them in blocks.

        Raises:
            TypeError: If one of them is not a string, or holds half a surrogate pair, which is no Unicode text.
        """
        known, slots, borders = self._many(texts) if self._are_many(texts) else self._few(texts)
        lengths = known.lengths[slots]
        ids = known.ids[ranges(known.starts[slots], lengths)].astype(np.int64)
        ends = np.zeros(len(slots) + 1, np.int64)
        lengths.cumsum(out=ends[1:])
        found = TokenIds(ids, ends[borders])
        places = known.places[slots]
        if places.any():
            found = self._with_exceptions(found, texts, places, borders)
        return self._surrounded(found) if len(self.before) or len(self.behind) else found

    def _are_many(self, texts: Sequence[str]) -> bool:
        """Tells whether Arrow takes less time for some texts, its import included."""
        if len(texts) <= _FEW_TEXTS:
            return False
        self._texts += len(texts)
        return self._texts > _TEXTS_THAT_PAY or "pyarrow" in sys.modules

    def _few(self, texts: Sequence[str]) -> tuple[_KnownRuns, NDArray[np.int64], NDArray[np.int64]]:
        """Takes texts apart one by one.

        Returns:
            Where the ids of the runs are, the number of each run there (runs,), and for each text the place of its
            first run, and the number of all (texts + 1,).
        """
        runs = [_runs_of(text) for text in texts]
        borders = np.zeros(len(texts) + 1, np.int64)
        np.cumsum([len(row) for row in runs], out=borders[1:])
        known, slots = self._slots(list(chain.from_iterable(runs)))
        return known, slots, borders

    def _many(self, texts: Sequence[str]) -> tuple[_KnownRuns, NDArray[np.int64], NDArray[np.int64]]:
        """Takes texts apart in array operations on the bytes of all; returns what :meth:`_few` does."""
        import pyarrow as pa

        data, offsets = _bytes_of(texts)
        spaces = np.frombuffer(data, np.uint8) == ord(" ")
        seams = np.zeros(len(spaces) + 1, np.bool_)
        np.greater(spaces[1:], spaces[:-1], out=seams[1:-1])
        seams[offsets] = True
        starts = np.flatnonzero(seams)
        # The runs lie end to end as the texts do, so they need not be copied.
        runs = pa.LargeStringArray.from_buffers(
            len(starts) - 1, pa.py_buffer(starts), pa.py_buffer(data)
        ).dictionary_encode()
        known, slots = self._slots(runs.dictionary.to_pylist())
        return known, slots[runs.indices.to_numpy()], np.searchsorted(starts, offsets)

    def _slots(self, runs: list[str]) -> tuple[_KnownRuns, NDArray[np.int64]]:
        """Finds runs among those that are known, to which it adds them if need be.

        Returns:
            Where they are known, and the number of each there (runs,).
        """
        known = self._known
        found = list(map(known.slots.get, runs))
        if None in found:
            new = list(dict.fromkeys(run for run, slot in zip(runs, found, strict=True) if slot is None))
            if not known.has_room_for(new):
                known = _KnownRuns()
                new = list(dict.fromkeys(runs))
                if known.has_room_for(new):
                    self._known = known
            known.add(new, *self._looked_up(new))
            found = list(map(known.slots.__getitem__, runs))
        return known, np.array(found, np.int64)

    def _looked_up(self, runs: list[str]) -> tuple[TokenIds, list[int]]:
        """Asks the tokenizer for the ids of some runs, and tells of each where it may stand."""
        ids = self._encoded(runs)
        return TokenIds.of_lists(ids), [self._place(run, item) for run, item in zip(runs, ids, strict=True)]

    def _encoded(self, texts: Iterable[str]) -> list[list[int]]:
        self.tokenizer.no_padding()
        self.tokenizer.no_truncation()
        return [item.ids for item in self.tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)]

    def _place(self, run: str, ids: list[int]) -> int:
        """Tells whether a run may stand behind another, and before another."""
        # An added token may be the unknown one, which is that of many a run.
        if not self._added_ids.isdisjoint(ids):
            normal = self._normalized(run)
            if any(token in run or token in normal for token in self._added):
                return _NOT_BEHIND | _NOT_BEFORE
        if self._ascii_visible and run.isascii() and " " < run[-1] < "\x7f":
            return _FREE
        normal = self._normalized(run)
        place = _FREE
        if run.startswith(" ") and not normal.startswith(" "):
            place |= _NOT_BEHIND
        if not normal or not _is_visible(normal[-1]) or self._normalized(f"{run} x") != f"{normal} x":
            place |= _NOT_BEFORE
        return place

    def _normalized(self, text: str) -> str:
        return text if self._normalize is None else self._normalize(text)

    def _with_exceptions(
        self, found: TokenIds, texts: Sequence[str], places: NDArray[np.uint8], borders: NDArray[np.int64]
    ) -> TokenIds:
        """Gives texts to the tokenizer whole in which a run stands where it may not (`places` (runs,) tells that)."""
        first, last = np.zeros(len(places), np.bool_), np.zeros(len(places), np.bool_)
        filled = np.diff(borders) > 0
        first[borders[:-1][filled]] = True
        last[borders[1:][filled] - 1] = True
        wrong = ((places & _NOT_BEHIND != 0) & ~first) | ((places & _NOT_BEFORE != 0) & ~last)
        whole = np.zeros(len(texts), np.bool_)
        whole[np.searchsorted(borders, np.flatnonzero(wrong), side="right") - 1] = True
        if not whole.any():
            return found
        others = TokenIds.of_lists(self._encoded(texts[row] for row in np.flatnonzero(whole).tolist()))
        return found.take(np.flatnonzero(~whole)).merged(others, whole)

    def _surrounded(self, found: TokenIds) -> TokenIds:
        """Puts the special tokens before and behind each text."""
        texts = len(found.offsets) - 1
        before, behind = (
            TokenIds(np.tile(ids, texts), np.arange(texts + 1) * len(ids)) for ids in (self.before, self.behind)
        )
        return before.interleaved(found, 0).interleaved(behind, 0)


class _KnownRuns:
    """The ids of runs, laid end to end as they were met.

    It only grows, and what is in its arrays stays there: who has found a run in `slots` finds the rest in the arrays
    that are there afterwards.

    Attributes:
        slots: The number of each run.
        ids: The ids of all runs.
        starts: Where those of each run begin.
        lengths: How many they are.
        places: Where each run may stand.
    """

    def __init__(self) -> None:
        self.slots: dict[str, int] = {}
        self.ids = np.zeros(1024, np.int32)
        self.starts = np.zeros(256, np.int64)
        self.lengths = np.zeros(256, np.int64)
        self.places = np.zeros(256, np.uint8)
        self._count = 0
        self._end = 0
        self._characters = 0
        self._lock = threading.Lock()

    def has_room_for(self, runs: Sequence[str]) -> bool:
        """Tells whether so many more may be remembered."""
        characters = self._characters + sum(map(len, runs))
        return self._count + len(runs) <= _REMEMBERED and characters <= _REMEMBERED_CHARACTERS

    def add(self, runs: list[str], ids: TokenIds, places: list[int]) -> None:
        """Adds runs, their ids, and where they may stand."""
        with self._lock:
            # Another thread may have met them at the same time: then they are there twice, and equal.
            first, self._count = self._count, self._count + len(runs)
            self.ids = _with(self.ids, self._end, ids.ids)
            self.starts = _with(self.starts, first, self._end + ids.offsets[:-1])
            self.lengths = _with(self.lengths, first, ids.lengths)
            self.places = _with(self.places, first, np.array(places, np.uint8))
            self._end += len(ids.ids)
            self._characters += sum(map(len, runs))
            self.slots.update(zip(runs, range(first, self._count), strict=True))


def _bytes_of(texts: Sequence[str]) -> tuple[bytes, NDArray[np.int64]]:
    """Lays the bytes of texts end to end; returns them, and where those of each text begin (texts + 1,).

    `pyarrow.array` would do the same of a list, and import pandas for it.

    Raises:
        TypeError: If a text is not a string, or no Unicode.
    """
    offsets = np.zeros(len(texts) + 1, np.int64)
    try:
        joined = "".join(texts)
        data = joined.encode()
        parts: Iterable[str | bytes] = texts if joined.isascii() else map(str.encode, texts)
    except UnicodeEncodeError as error:
        raise TypeError(f"a text is not valid Unicode: {error}") from error
    np.cumsum(np.fromiter(map(len, parts), np.int64, len(texts)), out=offsets[1:])
    return data, offsets


def _with(array: NDArray, end: int, values: NDArray) -> NDArray:
    """Writes values behind the first `end` of an array, or of a larger copy of it if they have no room there."""
    total = end + len(values)
    if total > len(array):
        larger = np.zeros(max(total, 2 * len(array)), array.dtype)
        larger[:end] = array[:end]
        array = larger
    array[end:total] = values
    return array


def _is_visible(character: str) -> bool:
    """Tells whether a character is a letter, mark, digit, punctuation mark or symbol, and no mark for a space."""
    return unicodedata.category(character)[0] in "LMNPS" and character != SPACE_MARK

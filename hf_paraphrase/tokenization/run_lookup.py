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
import unicodedata
from collections.abc import Iterable, Sequence
from functools import reduce
from itertools import chain
from operator import or_
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from ..data.arrow_arrays import bytes_of_texts, int32_values, int64_array, places_in
from .known_runs import FREE, NOT_BEFORE, NOT_BEHIND, KnownRuns
from .separable_runs import SPACE_MARK, keeps_ascii_visible, runs_are_separable
from .token_ids import TokenIds
from .tokenizer_parts import settings_of_part, tokens_around

if TYPE_CHECKING:
    from pyarrow import LargeStringArray
    from tokenizers import Tokenizer

_FEW_TEXTS = 512
"""So many texts are split up faster by Python than by Arrow."""
_TEXTS_THAT_PAY = 1 << 16
"""About so many are split up by Python, call by call, before the import of Arrow would have taken less time."""
_FEW_RUNS = 48
"""The ids of so many runs are gathered faster by Python than by NumPy."""
_EXCEPTIONS = NOT_BEHIND | NOT_BEFORE
_runs_of = re.compile(" *[^ ]+| +").findall


class RunLookup:
    """Computes the ids that a tokenizer gives, for many texts at once.

    Made by :meth:`for_tokenizer`. Several threads may use it at a time: what it remembers is the same for all. It
    needs `tokenizers` and NumPy, and Arrow for many texts.
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
        self._known = KnownRuns()
        self._texts = 0

    @classmethod
    def for_tokenizer(cls, tokenizer: Tokenizer, *, special_tokens: bool = False) -> RunLookup | None:
        """Makes the lookup of a tokenizer, or gives None where `tokenizers` must do the work."""
        around = tokens_around(tokenizer) if special_tokens else ((), ())
        if around is None or not runs_are_separable(tokenizer):
            return None
        before, behind = around
        return cls(tokenizer, before=before, behind=behind)

    def __call__(self, texts: Sequence[str]) -> TokenIds:
        """Computes the ids of some texts, without padding or truncation."""
        token_ids = self._many(texts) if self._are_many(texts) else self._few(texts)
        return self._surrounded(token_ids) if len(self.before) or len(self.behind) else token_ids

    def _are_many(self, texts: Sequence[str]) -> bool:
        """Returns whether Arrow takes less time for some texts, its import included."""
        if len(texts) <= _FEW_TEXTS:
            return False
        self._texts += len(texts)
        return self._texts > _TEXTS_THAT_PAY or "pyarrow" in sys.modules

    def _few(self, texts: Sequence[str]) -> TokenIds:
        """Splits texts one by one."""
        rows = list(map(_runs_of, texts))
        known, codes = self._codes(list(chain.from_iterable(rows)))
        counts = list(map(len, rows))
        if len(codes) <= _FEW_RUNS and not reduce(or_, codes, 0) & _EXCEPTIONS:
            return known.ids_of_few(codes, counts)
        borders = np.zeros(len(texts) + 1, np.int64)
        np.cumsum(counts, out=borders[1:])
        return self._gathered(texts, known, np.array(codes, np.int64), borders)

    def _many(self, texts: Sequence[str]) -> TokenIds:
        """Splits texts in array operations on the bytes of all."""
        import pyarrow as pa

        data, offsets = bytes_of_texts(texts)
        spaces = np.frombuffer(data, np.uint8) == ord(" ")
        seams = np.zeros(len(spaces) + 1, np.bool_)
        np.greater(spaces[1:], spaces[:-1], out=seams[1:-1])
        seams[offsets] = True
        starts = np.flatnonzero(seams)
        borders = np.searchsorted(starts, offsets)
        # The runs are end to end as the texts are, so they need not be copied.
        runs = pa.LargeStringArray.from_buffers(len(starts) - 1, pa.py_buffer(starts), pa.py_buffer(data))

        known = self._known
        index = known.index(len(runs))
        places = places_in(runs, index.runs)
        codes = index.codes[places]
        others = np.flatnonzero(places < 0)
        if len(others):
            met, values = self._codes_of_array(runs.take(int64_array(others)))
            if met is known:
                codes[others] = values
            else:
                # What is remembered was started again, and the codes are those of before.
                known, codes = self._codes_of_array(runs)
        return self._gathered(texts, known, codes, borders)

    def _gathered(
        self, texts: Sequence[str], known: KnownRuns, codes: NDArray[np.int64], borders: NDArray[np.int64]
    ) -> TokenIds:
        """Gathers the ids of texts from the codes of their runs."""
        token_ids = known.ids(codes, borders)
        places = codes & _EXCEPTIONS
        return self._with_exceptions(token_ids, texts, places, borders) if places.any() else token_ids

    def _codes_of_array(self, runs: LargeStringArray) -> tuple[KnownRuns, NDArray[np.int64]]:
        """Does what :meth:`_codes` does of runs many of which are the same."""
        runs = runs.dictionary_encode()
        known, codes = self._codes(runs.dictionary.to_pylist())
        return known, np.array(codes, np.int64)[int32_values(runs.indices)]

    def _codes(self, runs: list[str]) -> tuple[KnownRuns, list[int]]:
        """Finds where runs are known and the code of each there; unknown ones are added if need be."""
        known = self._known
        found_codes = known.codes(runs)
        if None in found_codes:
            new = list(dict.fromkeys(run for run, code in zip(runs, found_codes, strict=True) if code is None))
            if not known.has_room_for(new):
                known = KnownRuns()
                new = list(dict.fromkeys(runs))
                if known.has_room_for(new):
                    self._known = known
            ids = self._encoded(new)
            known.add(new, ids, [self._place(run, item) for run, item in zip(new, ids, strict=True)])
            found_codes = known.codes(runs)
        return known, cast(list[int], found_codes)

    def _encoded(self, texts: Iterable[str]) -> list[list[int]]:
        self.tokenizer.no_padding()
        self.tokenizer.no_truncation()
        return [item.ids for item in self.tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)]

    def _place(self, run: str, ids: list[int]) -> int:
        """Returns whether a run may stand behind another, and before another."""
        # An added token may be the unknown one, which is that of many a run.
        if not self._added_ids.isdisjoint(ids):
            normal = self._normalized(run)
            if any(token in run or token in normal for token in self._added):
                return NOT_BEHIND | NOT_BEFORE
        if self._ascii_visible and run.isascii() and " " < run[-1] < "\x7f":
            return FREE
        normal = self._normalized(run)
        place = FREE
        if run.startswith(" ") and not normal.startswith(" "):
            place |= NOT_BEHIND
        if not normal or not _is_visible(normal[-1]) or self._normalized(f"{run} x") != f"{normal} x":
            place |= NOT_BEFORE
        return place

    def _normalized(self, text: str) -> str:
        return text if self._normalize is None else self._normalize(text)

    def _with_exceptions(
        self, token_ids: TokenIds, texts: Sequence[str], places: NDArray[np.int64], borders: NDArray[np.int64]
    ) -> TokenIds:
        """Passes texts to the tokenizer that have a run where it may not be (flagged in `places` (runs,))."""
        first, last = np.zeros(len(places), np.bool_), np.zeros(len(places), np.bool_)
        filled = np.diff(borders) > 0
        first[borders[:-1][filled]] = True
        last[borders[1:][filled] - 1] = True
        wrong = ((places & NOT_BEHIND != 0) & ~first) | ((places & NOT_BEFORE != 0) & ~last)
        whole = np.zeros(len(texts), np.bool_)
        whole[np.searchsorted(borders, np.flatnonzero(wrong), side="right") - 1] = True
        if not whole.any():
            return token_ids
        others = TokenIds.of_lists(self._encoded(texts[row] for row in np.flatnonzero(whole).tolist()))
        return token_ids.take(np.flatnonzero(~whole)).merged(others, whole)

    def _surrounded(self, token_ids: TokenIds) -> TokenIds:
        """Puts the special tokens before and behind each text."""
        texts = len(token_ids.offsets) - 1
        before, behind = (
            TokenIds(np.tile(ids, texts), np.arange(texts + 1) * len(ids)) for ids in (self.before, self.behind)
        )
        return before.interleaved(token_ids, 0).interleaved(behind, 0)


def _is_visible(character: str) -> bool:
    """Returns whether a character is a letter, mark, digit, punctuation mark or symbol, and no mark for a space."""
    return unicodedata.category(character)[0] in "LMNPS" and character != SPACE_MARK

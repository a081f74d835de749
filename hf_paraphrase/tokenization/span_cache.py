"""Runs between spaces to ids for a whole block of texts at once: each different run is looked up once.

A corpus has far fewer different runs than runs, and for most tokenizers the ids of a text are those of its runs, one
after the other. So the runs are found and numbered in array operations, `tokenizers` is asked for the ids of those
that are new, and the ids of all are gathered. What was looked up is remembered from call to call.

A text is cut before every space that does not itself stand after a space: `The cat  sat` has the runs `The`, ` cat`
and `  sat`. That is done only where it gives exactly the ids of `tokenizers`: if no added token crosses a cut, the
normaliser changes each run by itself, the pre-tokenizer splits at every cut, and the model gives a piece the same ids
whenever it sees it. Only parts that are listed here count as such. Each different run is checked once, too: it must
hold no added token, and end, once normalised, in a visible character that the next run does not change; if it begins
with a space it must do so once normalised. A text with a run that fails beside others is given to `tokenizers` whole.
"""

from __future__ import annotations

import json
import re
import sys
import threading
import unicodedata
from collections.abc import Iterable, Sequence
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from .morfessor import MORFESSOR_WORDS
from .ragged_ids import TokenIds, ends_of, library_ids, ranges

if TYPE_CHECKING:
    from pyarrow import LargeStringArray
    from tokenizers import Tokenizer

_KEEP_ASCII = ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "Nmt", "BertNormalizer")
"""Those that leave visible ASCII as it is, but for case."""
_NORMALIZERS = (*_KEEP_ASCII, "Precompiled")
"""Those that change a character, or a letter and its marks, whatever stands around it."""
_REPLACED = (r"\p{Nd}", r"\s+", r"\s", " {2,}", " +")
"""Regular expressions that match one character, or white space only."""
REMEMBERED = 1 << 21
"""Characters of all runs that are remembered; a call that begins with more of them starts again."""
_FEW_TEXTS = 512
"""So many texts are split up faster by Python than by Arrow."""
_TEXTS_THAT_PAY = 1 << 16
"""About so many are split up by Python, call by call, before the import of Arrow would have taken less time."""
_FEW_RUNS = 48
"""The ids of so many runs are gathered faster by Python than by NumPy."""
_ALONE, _LENGTH, _START = 1, 1, 32
"""The bit of a code that says whether a run must stand alone, and those where length and start of its ids begin."""
_LENGTHS = (1 << (_START - _LENGTH)) - 1
_NEW_SHARE = 8
_runs_of = re.compile(" *[^ ]+| +").findall


class SpanCache:
    """Computes the ids that a tokenizer gives, for many texts at once; several threads may use it at a time."""

    def __init__(self, tokenizer: Tokenizer, *, around: tuple[Sequence[int], Sequence[int]] = ((), ())) -> None:
        self.tokenizer = tokenizer
        # The special tokens before and after each text.
        self._around = [np.array(ids, np.int64) for ids in around]
        self._normalized = str if tokenizer.normalizer is None else tokenizer.normalizer.normalize_str
        self._keeps_ascii = _keeps_ascii(settings_of_part(tokenizer.normalizer))
        added = tokenizer.get_added_tokens_decoder()
        self._added_ids = frozenset(added)
        self._added = {token.content for token in added.values()}
        self._added.update([self._normalized(text) for text in self._added])
        self._known = _KnownRuns()
        self._texts = 0

    @classmethod
    def for_tokenizer(cls, tokenizer: Tokenizer, *, special_tokens: bool = False) -> SpanCache | None:
        """Make the lookup of a tokenizer, or return None where `tokenizers` must do the work."""
        around = tokens_around(tokenizer) if special_tokens else ((), ())
        if around is None or not runs_are_separable(tokenizer):
            return None
        return cls(tokenizer, around=around)

    def __call__(self, texts: Sequence[str]) -> TokenIds:
        """Compute the ids of some texts, without padding or truncation."""
        known = self._known
        if known.characters > REMEMBERED:
            self._known = known = _KnownRuns()
        self._texts += len(texts)
        pays = self._texts > _TEXTS_THAT_PAY or "pyarrow" in sys.modules
        token_ids = self._many(known, texts) if len(texts) > _FEW_TEXTS and pays else self._few(known, texts)
        if not any(map(len, self._around)):
            return token_ids
        before, behind = (
            TokenIds(np.tile(ids, len(texts)), np.arange(len(texts) + 1) * len(ids)) for ids in self._around
        )
        return before.interleaved(token_ids, 0).interleaved(behind, 0)

    def _few(self, known: _KnownRuns, texts: Sequence[str]) -> TokenIds:
        """Split texts one by one."""
        rows = list(map(_runs_of, texts))
        codes = self._codes(known, list(chain.from_iterable(rows)))
        borders = np.array([0, *accumulate(map(len, rows))], np.int64)
        if len(codes) <= _FEW_RUNS and not any(code & _ALONE for code in codes):
            return known.ids_of_few(codes, borders)
        return self._gathered(known, texts, np.array(codes, np.int64), borders)

    def _many(self, known: _KnownRuns, texts: Sequence[str]) -> TokenIds:
        """Split texts in array operations on the bytes of all."""
        import pyarrow as pa

        joined = "".join(texts)
        data = joined.encode()
        parts: Iterable[str | bytes] = texts if joined.isascii() else map(str.encode, texts)
        offsets = ends_of(np.fromiter(map(len, parts), np.int64, len(texts)))
        spaces = np.frombuffer(data, np.uint8) == ord(" ")
        cuts = np.zeros(len(spaces) + 1, np.bool_)
        np.greater(spaces[1:], spaces[:-1], out=cuts[1:-1])
        cuts[offsets] = True
        starts = np.flatnonzero(cuts)
        # The runs are end to end as the texts are, so they need not be copied.
        runs = pa.LargeStringArray.from_buffers(len(starts) - 1, pa.py_buffer(starts), pa.py_buffer(data))
        return self._gathered(known, texts, self._codes_of_array(known, runs), np.searchsorted(starts, offsets))

    def _codes_of_array(self, known: _KnownRuns, runs: LargeStringArray) -> NDArray[np.int64]:
        """Find the codes of an array of runs; Arrow alone finds the runs of the previous call."""
        import pyarrow.compute as pc

        previous = known.previous  # another thread may replace it
        if previous is not None and len(previous[1]) <= len(runs):
            options, codes = previous
            places = pc.index_in(runs, options=options)
            if places.null_count <= len(runs) // _NEW_SHARE:
                new = places.is_null()
                rows = np.unpackbits(np.frombuffer(new.buffers()[1], np.uint8), count=len(new), bitorder="little") == 1
                found = codes[np.where(rows, 0, _numbers(places))]
                found[rows] = self._codes(known, runs.filter(new).to_pylist())
                return found
        encoded = runs.dictionary_encode()
        codes = np.array(self._codes(known, encoded.dictionary.to_pylist()), np.int64)
        known.previous = pc.SetLookupOptions(encoded.dictionary), codes
        return codes[_numbers(encoded.indices)]

    def _gathered(
        self, known: _KnownRuns, texts: Sequence[str], codes: NDArray[np.int64], borders: NDArray[np.int64]
    ) -> TokenIds:
        """Gather the ids of texts from the codes of their runs (runs,); each text begins at a border."""
        token_ids = known.ids_of(codes, borders)
        alone = np.flatnonzero(codes & _ALONE)
        whole = np.zeros(len(texts), np.bool_)
        whole[np.searchsorted(borders, alone, side="right") - 1] = True
        whole &= np.diff(borders) > 1
        if not whole.any():
            return token_ids
        rows = np.flatnonzero(whole).tolist()
        others = TokenIds.of_lists(library_ids(self.tokenizer, [texts[row] for row in rows]))
        return token_ids.take(np.flatnonzero(~whole)).merged(others, whole)

    def _codes(self, known: _KnownRuns, runs: list[str]) -> list[int]:
        """Find the codes of runs; new ones are looked up."""
        codes = list(map(known.codes.get, runs))
        if None in codes:
            new = list(dict.fromkeys(run for run, code in zip(runs, codes, strict=True) if code is None))
            ids = library_ids(self.tokenizer, new)
            known.add(new, ids, [self._must_stand_alone(run, item) for run, item in zip(new, ids, strict=True)])
            codes = list(map(known.codes.get, runs))
        return cast(list[int], codes)

    def _must_stand_alone(self, run: str, ids: list[int]) -> bool:
        """Return whether a run may be changed by its neighbours, or change them."""
        # An added token may be the unknown token, the id of many runs.
        may_hold_added = not self._added_ids.isdisjoint(ids)
        if self._keeps_ascii and not may_hold_added and run.isascii() and run.isprintable() and run[-1] != " ":
            return False
        normal = self._normalized(run)
        if may_hold_added and any(token in run or token in normal for token in self._added):
            return True
        # `Metaspace` writes ▁ for a space.
        is_visible = normal[-1:] != "▁" and unicodedata.category(normal[-1:] or " ")[0] in "LMNPS"
        if not is_visible or (run.startswith(" ") and not normal.startswith(" ")):
            return True
        return self._normalized(f"{run} x") != f"{normal} x"


class _KnownRuns:
    """The ids of runs, laid end to end in the order in which they were added.

    It only grows, and what is in its array stays there: so several threads may use it at a time. A code is three
    numbers in one: where the ids of a run begin, how many they are, and whether it must stand alone.
    """

    def __init__(self) -> None:
        self.codes: dict[str, int] = {}
        self.characters = 0
        self._ids = np.zeros(1024, np.int32)
        self._end = 0
        self.previous: tuple[Any, NDArray[np.int64]] | None = None
        self._lock = threading.Lock()

    def add(self, runs: list[str], ids: Sequence[Sequence[int]], alone: Sequence[bool]) -> None:
        """Add different runs, their ids, and whether they must stand alone."""
        token_ids = TokenIds.of_lists(ids)
        with self._lock:
            # Another thread may have added them at the same time: then their ids are there twice, and equal.
            first, self._end = self._end, self._end + len(token_ids.ids)
            if self._end > len(self._ids):
                larger = np.zeros(max(self._end, 2 * len(self._ids)), np.int32)
                larger[:first] = self._ids[:first]
                self._ids = larger
            self._ids[first : self._end] = token_ids.ids
            self.characters += sum(map(len, runs))
            starts = first + token_ids.offsets[:-1]
            codes = starts << _START | token_ids.lengths << _LENGTH | np.array(alone, np.int64)
            self.codes.update(zip(runs, codes.tolist(), strict=True))

    def ids_of(self, codes: NDArray[np.int64], borders: NDArray[np.int64]) -> TokenIds:
        """Gather the ids of texts."""
        lengths = codes >> _LENGTH & _LENGTHS
        ids = self._ids[ranges(codes >> _START, lengths)].astype(np.int64)
        return TokenIds(ids, ends_of(lengths)[borders])

    def ids_of_few(self, codes: Sequence[int], borders: NDArray[np.int64]) -> TokenIds:
        """Gather the ids of texts one run at a time."""
        all_ids = self._ids
        rows = [all_ids[code >> _START :][: code >> _LENGTH & _LENGTHS].tolist() for code in codes]
        ends = np.array([0, *accumulate(map(len, rows))], np.int64)
        return TokenIds(np.array(list(chain.from_iterable(rows)), np.int64), ends[borders])


def _numbers(array: Any) -> NDArray[np.int32]:
    # `to_numpy` would import pandas to ask what it was given, which takes longer than many a search.
    return np.frombuffer(array.buffers()[1] or b"", np.int32, len(array))


def settings_of_part(part: Any) -> Any:
    """Read the settings of a part of a tokenizer; None where there is no such part."""
    return None if part is None else json.loads(part.__getstate__())


def tokens_around(tokenizer: Tokenizer) -> tuple[list[int], list[int]] | None:
    """List the ids of the special tokens put before and after a single text; None if anything else may be done."""
    tokenizer.no_padding()
    tokenizer.no_truncation()
    plain = tokenizer.encode("a", add_special_tokens=False).ids
    ids = tokenizer.encode("a").ids
    start = next((start for start in range(len(ids)) if ids[start:][: len(plain)] == plain), 0)
    before, behind = ids[:start], ids[start + len(plain) :]
    for text in ("a", "a b c", ""):
        alone = tokenizer.encode(text, add_special_tokens=False)
        # A repeated text begins again.
        if alone.offsets != sorted(alone.offsets) or tokenizer.encode(text).ids != [*before, *alone.ids, *behind]:
            return None
    return before, behind


def runs_are_separable(tokenizer: Tokenizer) -> bool:
    """Return whether a text has the ids of its runs, apart from the checks of each run."""
    model = tokenizer.model
    # A model may be set to draw the ids of a piece.
    is_drawn = any(getattr(model, name, None) for name in ("dropout", "alpha", "nbest_size"))
    return (
        type(model).__name__ in ("WordLevel", "WordPiece", "Unigram", "BPE")
        and not is_drawn
        and _splits_runs(settings_of_part(tokenizer.pre_tokenizer))
        and _keeps_runs_apart(settings_of_part(tokenizer.normalizer))
        and _added_tokens_are_within_runs(tokenizer)
    )


def _splits_runs(pre_tokenizer: Any) -> bool:
    """Return whether a text is split where a space follows a visible character, and each side of that as if alone."""
    match pre_tokenizer:
        case {"type": "Sequence", "pretokenizers": [first, *_]}:
            # Whatever comes after the first part sees its pieces one by one.
            return _splits_runs(first)
        case {"type": "Metaspace", "replacement": "▁", "split": True} | {"type": "ByteLevel", "use_regex": True}:
            return True
        case {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Removed", "invert": True}:
            return bool(pattern == MORFESSOR_WORDS)
        case {"type": "BertPreTokenizer" | "Whitespace" | "WhitespaceSplit"}:
            return True
    return False


def _keeps_runs_apart(normalizer: Any) -> bool:
    """Return whether the text before and after a space is normalized separately, if the space stays one."""
    match normalizer:
        case {"type": "Sequence", "normalizers": parts}:
            return all(map(_keeps_runs_apart, parts))
        case {"type": "Strip", "strip_left": strips_left}:
            # The white space at the end of a run is not at the end of the text, so a run must have none there.
            return not strips_left
        case {"type": "Replace", "pattern": {"String": text}}:
            return bool(text) and " " not in text
        case {"type": "Replace", "pattern": {"Regex": pattern}}:
            return pattern in _REPLACED
    return normalizer is None or normalizer["type"] in _NORMALIZERS


def _keeps_ascii(normalizer: Any) -> bool:
    match normalizer:
        case {"type": "Sequence", "normalizers": parts}:
            return all(map(_keeps_ascii, parts))
        case {"type": "Replace", "pattern": {"String": text}}:
            return not text.isascii()
    return normalizer is None or normalizer["type"] in _KEEP_ASCII


def _added_tokens_are_within_runs(tokenizer: Tokenizer) -> bool:
    across = re.compile(r"[^ ] ").search
    normalizer = tokenizer.normalizer
    for token in tokenizer.get_added_tokens_decoder().values():
        is_normalized = token.normalized and normalizer is not None
        normal = normalizer.normalize_str(token.content) if is_normalized else token.content
        if not token.content or across(token.content) or across(normal):
            return False
    return True

"""Ids of blocks of texts by lookup of the spans between spaces: each different span is tokenized once.

A text is cut before every space that follows another character: `The cat  sat` has the spans `The`, ` cat` and
`  sat`. For most tokenizers the ids of a text are the concatenated ids of its spans, and a corpus has few different
spans. Array operations find and number the spans of a block, `tokenizers` computes the ids of new ones, and the ids
of all are gathered. Ids of spans are cached between calls.

This is done only if the ids equal the tokenizer's: no added token crosses a cut, the normalizer changes each span
independently, the pre-tokenizer splits at every cut, and the model always gives a piece the same ids. The functions
below list the tokenizer components with these properties. Each new span is checked too: it contains no added token,
and its normalized form ends in a visible character that the next span does not change, and begins with a space if the
span does. A text with a span that fails a check is tokenized as a whole, unless it is the only span.
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
"""Normalizers that change only the case of visible ASCII."""
_NORMALIZERS = (*_KEEP_ASCII, "Precompiled")
"""Normalizers that change a character, or a letter and its marks, independently of its neighbours."""
_REPLACED = (r"\p{Nd}", r"\s+", r"\s", " {2,}", " +")
"""Regular expressions that match one character, or white space only."""
MAX_CHARACTERS = 1 << 21
"""Maximum number of characters of cached spans; a call that begins with more clears the cache."""
_FEW_TEXTS = 512
"""Up to this number of texts, Python splits faster than Arrow."""
_TEXTS_THAT_PAY = 1 << 16
"""The number of texts that Python splits in the time of importing Arrow."""
_FEW_SPANS = 48
"""Up to this number of spans, Python gathers ids faster than NumPy."""
_ALONE, _LENGTH, _START = 1, 1, 32
"""The bit of a code for a span that must stand alone, and the first bits of the length and the start of its ids."""
_LENGTHS = (1 << (_START - _LENGTH)) - 1
_NEW_FRACTION = 8
_split_spans = re.compile(" *[^ ]+| +").findall


class SpanCache:
    """Computes the ids that a tokenizer gives to many texts at once; it is safe to use in several threads."""

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
        self._cached = _CachedSpans()
        self._texts = 0

    @classmethod
    def for_tokenizer(cls, tokenizer: Tokenizer, *, special_tokens: bool = False) -> SpanCache | None:
        """Make the lookup of a tokenizer, or return None if its ids cannot be looked up."""
        around = tokens_around(tokenizer) if special_tokens else ((), ())
        if around is None or not has_separable_spans(tokenizer):
            return None
        return cls(tokenizer, around=around)

    def __call__(self, texts: Sequence[str]) -> TokenIds:
        """Compute the ids of some texts, without padding or truncation."""
        cached = self._cached
        if cached.characters > MAX_CHARACTERS:
            self._cached = cached = _CachedSpans()
        self._texts += len(texts)
        pays = self._texts > _TEXTS_THAT_PAY or "pyarrow" in sys.modules
        token_ids = self._many(cached, texts) if len(texts) > _FEW_TEXTS and pays else self._few(cached, texts)
        if not any(map(len, self._around)):
            return token_ids
        before, behind = (
            TokenIds(np.tile(ids, len(texts)), np.arange(len(texts) + 1) * len(ids)) for ids in self._around
        )
        return before.interleaved(token_ids, 0).interleaved(behind, 0)

    def _few(self, cached: _CachedSpans, texts: Sequence[str]) -> TokenIds:
        """Split texts one by one."""
        rows = list(map(_split_spans, texts))
        codes = self._codes(cached, list(chain.from_iterable(rows)))
        borders = np.array([0, *accumulate(map(len, rows))], np.int64)
        if len(codes) <= _FEW_SPANS and not any(code & _ALONE for code in codes):
            return cached.gather_few(codes, borders)
        return self._gathered(cached, texts, np.array(codes, np.int64), borders)

    def _many(self, cached: _CachedSpans, texts: Sequence[str]) -> TokenIds:
        """Split texts by array operations on their concatenated bytes."""
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
        # The spans cover the bytes without gaps, so they need not be copied.
        spans = pa.LargeStringArray.from_buffers(len(starts) - 1, pa.py_buffer(starts), pa.py_buffer(data))
        return self._gathered(cached, texts, self._codes_of_array(cached, spans), np.searchsorted(starts, offsets))

    def _codes_of_array(self, cached: _CachedSpans, spans: LargeStringArray) -> NDArray[np.int64]:
        """Look up the codes of an array of spans; spans of the previous call are found by Arrow, which is faster."""
        import pyarrow.compute as pc

        previous = cached.previous  # another thread may replace it
        if previous is not None and len(previous[1]) <= len(spans):
            options, codes = previous
            indices = pc.index_in(spans, options=options)
            if indices.null_count <= len(spans) // _NEW_FRACTION:
                new = indices.is_null()
                rows = np.unpackbits(np.frombuffer(new.buffers()[1], np.uint8), count=len(new), bitorder="little") == 1
                result = codes[np.where(rows, 0, _to_numpy(indices))]
                result[rows] = self._codes(cached, spans.filter(new).to_pylist())
                return result
        encoded = spans.dictionary_encode()
        codes = np.array(self._codes(cached, encoded.dictionary.to_pylist()), np.int64)
        cached.previous = pc.SetLookupOptions(encoded.dictionary), codes
        return codes[_to_numpy(encoded.indices)]

    def _gathered(
        self, cached: _CachedSpans, texts: Sequence[str], codes: NDArray[np.int64], borders: NDArray[np.int64]
    ) -> TokenIds:
        """Gather the ids of texts from the codes of their spans (spans,); each text begins at a border."""
        token_ids = cached.gather(codes, borders)
        alone = np.flatnonzero(codes & _ALONE)
        whole = np.zeros(len(texts), np.bool_)
        whole[np.searchsorted(borders, alone, side="right") - 1] = True
        whole &= np.diff(borders) > 1
        if not whole.any():
            return token_ids
        rows = np.flatnonzero(whole).tolist()
        others = TokenIds.of_lists(library_ids(self.tokenizer, [texts[row] for row in rows]))
        return token_ids.take(np.flatnonzero(~whole)).merged(others, whole)

    def _codes(self, cached: _CachedSpans, spans: list[str]) -> list[int]:
        """Look up the codes of spans, and add new spans to the cache."""
        codes = list(map(cached.codes.get, spans))
        if None in codes:
            new = list(dict.fromkeys(span for span, code in zip(spans, codes, strict=True) if code is None))
            ids = library_ids(self.tokenizer, new)
            cached.add(new, ids, list(map(self._must_stand_alone, new, ids)))
            codes = list(map(cached.codes.get, spans))
        return cast(list[int], codes)

    def _must_stand_alone(self, span: str, ids: list[int]) -> bool:
        """Return whether the tokens of a span may depend on the spans next to it, or theirs on it."""
        # An added token may be the unknown token, the id of many spans.
        may_hold_added = not self._added_ids.isdisjoint(ids)
        if self._keeps_ascii and not may_hold_added and span.isascii() and span.isprintable() and span[-1] != " ":
            return False
        normal = self._normalized(span)
        if may_hold_added and any(token in span or token in normal for token in self._added):
            return True
        # `Metaspace` writes ▁ for a space.
        is_visible = normal[-1:] != "▁" and unicodedata.category(normal[-1:] or " ")[0] in "LMNPS"
        if not is_visible or (span.startswith(" ") and not normal.startswith(" ")):
            return True
        return self._normalized(f"{span} x") != f"{normal} x"


class _CachedSpans:
    """The concatenated ids of spans, in the order in which the spans were added.

    The array only grows, so several threads may use it at a time. A code packs three numbers: the start and the number
    of the ids of a span, and whether a text with the span and others is tokenized as a whole.
    """

    def __init__(self) -> None:
        self.codes: dict[str, int] = {}
        self.characters = 0
        self._ids = np.zeros(1024, np.int32)
        self._end = 0
        self.previous: tuple[Any, NDArray[np.int64]] | None = None
        self._lock = threading.Lock()

    def add(self, spans: list[str], ids: Sequence[Sequence[int]], alone: Sequence[bool]) -> None:
        """Add different spans, their ids, and whether each must be the only span of a text."""
        token_ids = TokenIds.of_lists(ids)
        with self._lock:
            # If another thread adds the same spans, the array has their ids twice.
            first, self._end = self._end, self._end + len(token_ids.ids)
            if self._end > len(self._ids):
                larger = np.zeros(max(self._end, 2 * len(self._ids)), np.int32)
                larger[:first] = self._ids[:first]
                self._ids = larger
            self._ids[first : self._end] = token_ids.ids
            self.characters += sum(map(len, spans))
            starts = first + token_ids.offsets[:-1]
            codes = starts << _START | token_ids.lengths << _LENGTH | np.array(alone, np.int64)
            self.codes.update(zip(spans, codes.tolist(), strict=True))

    def gather(self, codes: NDArray[np.int64], borders: NDArray[np.int64]) -> TokenIds:
        """Gather the ids of texts."""
        lengths = codes >> _LENGTH & _LENGTHS
        ids = self._ids[ranges(codes >> _START, lengths)].astype(np.int64)
        return TokenIds(ids, ends_of(lengths)[borders])

    def gather_few(self, codes: Sequence[int], borders: NDArray[np.int64]) -> TokenIds:
        """Gather the ids of texts one span at a time."""
        all_ids = self._ids
        rows = [all_ids[code >> _START :][: code >> _LENGTH & _LENGTHS].tolist() for code in codes]
        ends = np.array([0, *accumulate(map(len, rows))], np.int64)
        return TokenIds(np.array(list(chain.from_iterable(rows)), np.int64), ends[borders])


def _to_numpy(array: Any) -> NDArray[np.int32]:
    # `to_numpy` would import pandas, which takes longer than many searches.
    return np.frombuffer(array.buffers()[1] or b"", np.int32, len(array))


def settings_of_part(part: Any) -> Any:
    """Read the settings of a part of a tokenizer; None for no part."""
    return None if part is None else json.loads(part.__getstate__())


def tokens_around(tokenizer: Tokenizer) -> tuple[list[int], list[int]] | None:
    """List the ids of the special tokens before and after a single text; None if the tokenizer may do more."""
    tokenizer.no_padding()
    tokenizer.no_truncation()
    plain = tokenizer.encode("a", add_special_tokens=False).ids
    ids = tokenizer.encode("a").ids
    start = next((start for start in range(len(ids)) if ids[start:][: len(plain)] == plain), 0)
    before, behind = ids[:start], ids[start + len(plain) :]
    for text in ("a", "a b c", ""):
        alone = tokenizer.encode(text, add_special_tokens=False)
        # Offsets that are not sorted show that the text is repeated.
        if alone.offsets != sorted(alone.offsets) or tokenizer.encode(text).ids != [*before, *alone.ids, *behind]:
            return None
    return before, behind


def has_separable_spans(tokenizer: Tokenizer) -> bool:
    """Return whether the ids of a text are the concatenated ids of its spans, if each span passes the checks."""
    model = tokenizer.model
    # With these settings a model draws the ids of a piece.
    is_drawn = any(getattr(model, name, None) for name in ("dropout", "alpha", "nbest_size"))
    return (
        type(model).__name__ in ("WordLevel", "WordPiece", "Unigram", "BPE")
        and not is_drawn
        and _splits_spans(settings_of_part(tokenizer.pre_tokenizer))
        and _normalizes_separately(settings_of_part(tokenizer.normalizer))
        and _has_no_added_token_across_spans(tokenizer)
    )


def _splits_spans(pre_tokenizer: Any) -> bool:
    """Return whether a text is split at each space after a visible character, and the parts independently."""
    match pre_tokenizer:
        case {"type": "Sequence", "pretokenizers": [first, *_]}:
            # The parts after the first read its pieces one by one.
            return _splits_spans(first)
        case {"type": "Metaspace", "replacement": "▁", "split": True} | {"type": "ByteLevel", "use_regex": True}:
            return True
        case {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Removed", "invert": True}:
            return bool(pattern == MORFESSOR_WORDS)
        case {"type": "BertPreTokenizer" | "Whitespace" | "WhitespaceSplit"}:
            return True
    return False


def _normalizes_separately(normalizer: Any) -> bool:
    """Return whether the texts before and after a space are normalized independently, if the space remains."""
    match normalizer:
        case {"type": "Sequence", "normalizers": parts}:
            return all(map(_normalizes_separately, parts))
        case {"type": "Strip", "strip_left": strips_left}:
            # White space at the end of a span is not at the end of the text; each span is checked for it.
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


def _has_no_added_token_across_spans(tokenizer: Tokenizer) -> bool:
    across = re.compile(r"[^ ] ").search
    normalizer = tokenizer.normalizer
    for token in tokenizer.get_added_tokens_decoder().values():
        is_normalized = token.normalized and normalizer is not None
        normal = normalizer.normalize_str(token.content) if is_normalized else token.content
        if not token.content or across(token.content) or across(normal):
            return False
    return True

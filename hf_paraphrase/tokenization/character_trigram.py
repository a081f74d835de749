r"""Builds character-trigram tokenizers: every window of three characters is a token.

A text gets one space before and one after it, and all its windows of three characters are tokens (ParaNMT-50M,
Wieting and Gimpel 2018, section 4.1; Charagram, Wieting et al. 2016). `the cat` has the tokens ` th`, `the`, `he `,
`e c`, ` ca`, `cat`, `at `. Before, the text is normalized by NFKC, optionally lower-cased, and its white space is
collapsed.

The `tokenizers` library has no part that makes overlapping tokens, so a chain of replacements writes every window
out: it replaces each character c by three, `\1 c \2`. Then one rule for every letter x of the vocabulary replaces `\1`
after x, and `\2` before x, by x. So every program that reads a `tokenizer.json` gives the exact tokens, but slowly.
:class:`TrigramLookup` looks up all windows of a block of texts at once, with the same result.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from itertools import compress, islice
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from .ragged_ids import TokenIds, ends_of, library_ids
from .span_cache import settings_of_part, tokens_around
from .word_level import PAD_ID, PAD_TOKEN, UNKNOWN_ID, UNKNOWN_TOKEN, as_fast_tokenizer

if TYPE_CHECKING:
    from tokenizers import Tokenizer, normalizers
    from transformers import PreTrainedTokenizerFast

CONTROL_CHARS = "\x01\x02"
"""Two control characters that the tokenizer uses itself, and removes from every text."""
_BEFORE, _BEHIND = CONTROL_CHARS[0], CONTROL_CHARS[1]
_PLAIN = re.compile("[ -~\xa1-\u024f\u0400-\u052f]*").fullmatch
"""Matches Latin and Cyrillic text, which Python normalizes faster, with the same result."""
_SENTENCES_PER_BLOCK = 1 << 14
_CHARACTER_BITS = 21
_CODE_POINTS = 0x110000
_TABLE_SIZE = 1 << 24
"""Maximum number of entries of a table; beyond that trigrams are searched."""


def trigram_vocabulary(
    sentences: Iterable[str], *, lower_case: bool = True, min_frequency: int = 1, max_size: int | None = 200_000
) -> list[str]:
    """List the character trigrams of a text, by descending frequency and then by code points."""
    return list(trigram_counts(sentences, lower_case=lower_case, min_frequency=min_frequency, max_size=max_size))


def trigram_counts(
    sentences: Iterable[str], *, lower_case: bool = True, min_frequency: int = 1, max_size: int | None = None
) -> dict[str, int]:
    """Count the character trigrams of a text, selected and ordered as by :func:`trigram_vocabulary`."""
    normalize = text_normalizer(lower_case=lower_case)
    keys, counts = np.zeros(0, np.int64), np.zeros(0, np.int64)
    stream = iter(sentences)
    while block := list(islice(stream, _SENTENCES_PER_BLOCK)):
        points, centres, _ = character_windows(block, normalize, lower_case=lower_case)
        first, second, third = (points[centres + shift].astype(np.int64) for shift in (-1, 0, 1))
        # One number of 21 bits per character, in the order of the strings.
        packed = first << 2 * _CHARACTER_BITS | second << _CHARACTER_BITS | third
        new_keys, new_counts = np.unique(packed, return_counts=True)
        keys, index = np.unique(np.concatenate([keys, new_keys]), return_inverse=True)
        counts = np.bincount(index, np.concatenate([counts, new_counts]), len(keys)).astype(np.int64)
    order = np.argsort(-counts, kind="stable")
    order = order[counts[order] >= min_frequency][:max_size]
    mask = (1 << _CHARACTER_BITS) - 1
    return {
        chr(key >> 2 * _CHARACTER_BITS) + chr(key >> _CHARACTER_BITS & mask) + chr(key & mask): count
        for key, count in zip(keys[order].tolist(), counts[order].tolist(), strict=True)
    }


def build_character_trigram_tokenizer(
    trigrams: Iterable[str], *, lower_case: bool = True, skip_unknown: bool = False
) -> PreTrainedTokenizerFast:
    """Build a tokenizer from a list of trigrams in the order of their ids, e.g. from :func:`trigram_vocabulary`.

    `skip_unknown` drops trigrams outside the vocabulary (Wieting et al. 2019). Otherwise each of them is the token
    `[UNK]`, id 1 (ParaNMT-50M). Id 0 is `[PAD]`.
    """
    special = {PAD_TOKEN: PAD_ID} if skip_unknown else {PAD_TOKEN: PAD_ID, UNKNOWN_TOKEN: UNKNOWN_ID}
    vocabulary = dict(special)
    for trigram in trigrams:
        if len(trigram) != 3 or any(character in trigram for character in CONTROL_CHARS):
            raise ValueError(f"{trigram!r} is not a trigram of characters")
        vocabulary.setdefault(trigram, len(vocabulary))
    if len(vocabulary) == len(special):
        raise InputError("the vocabulary has no trigrams", remedy="give sentences with text, or lower min_frequency")
    backend = _backend(vocabulary, lower_case=lower_case, skip_unknown=skip_unknown)
    return as_fast_tokenizer(backend, **dict(zip(("pad_token", "unk_token"), special, strict=False)))


def _backend(vocabulary: dict[str, int], *, lower_case: bool, skip_unknown: bool) -> Tokenizer:
    """Make a tokenizer whose normalizer is the chain of replacements that writes out every window."""
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers

    model: models.Model = models.WordLevel(vocabulary, unk_token=UNKNOWN_TOKEN)
    if skip_unknown:
        # Without merges it returns the id of a known text and drops unknown characters.
        model = models.BPE(vocab=vocabulary, merges=[], ignore_merges=True)
    tokenizer = Tokenizer(model)
    steps = _text_steps(lower_case)
    steps.append(normalizers.Replace(Regex("(?=.)"), _BEFORE))
    steps.append(normalizers.Replace(Regex(f"(?<=[^{_BEFORE}])"), _BEHIND))
    # The spaces before and after the text, and inside it.
    spaces = rf"\A{_BEFORE}|(?<= .){_BEFORE}|{_BEHIND}(?=. )|{_BEHIND}\z"
    steps.append(normalizers.Replace(Regex(spaces), " "))
    trigrams = vocabulary.keys() - {PAD_TOKEN, UNKNOWN_TOKEN}
    for character in sorted({character for trigram in trigrams for character in trigram[::2]} - {" "}):
        code = rf"\x{{{ord(character):x}}}"
        steps.append(normalizers.Replace(Regex(f"(?<={code}.){_BEFORE}|{_BEHIND}(?=.{code})"), character))
    tokenizer.normalizer = normalizers.Sequence(steps)
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex("..."), "isolated")
    return tokenizer


def text_normalizer(*, lower_case: bool) -> Callable[[str], str]:
    """Return the function that normalizes one text: NFKC, optional lower case, white space collapsed."""
    from tokenizers import normalizers

    normalize: Callable[[str], str] = normalizers.Sequence(_text_steps(lower_case)).normalize_str
    return normalize


def character_windows(
    texts: Sequence[str], normalize: Callable[[str], str], *, lower_case: bool
) -> tuple[NDArray[np.unsignedinteger], NDArray[np.int64], NDArray[np.int64]]:
    """Find the windows of some texts, normalized as by :func:`text_normalizer`.

    Returns:
        The concatenated code points of all texts, with a space before and after each text; the index in it of the
        middle character of each window (windows,); and the first window of each text (texts + 1,).
    """
    cased = str.lower if lower_case else str
    plain = [
        " ".join(cased(unicodedata.normalize("NFKC", text)).split()) if _PLAIN(text) else normalize(text)
        for text in texts
    ]
    row = f" {' '.join(plain)} "
    offsets = ends_of(np.fromiter(map(len, plain), np.int64, len(plain)))
    is_centre = np.ones(int(offsets[-1]) + len(texts) + 1, np.bool_)
    is_centre[offsets + np.arange(len(offsets))] = False
    points: NDArray[np.unsignedinteger]
    if row.isascii():
        points = np.frombuffer(row.encode("ascii"), np.uint8)
    else:
        points = np.frombuffer(row.encode("utf-32-le"), np.uint32)
    return points, np.flatnonzero(is_centre), offsets


class TrigramLookup:
    """Computes the ids of a character-trigram tokenizer for many texts at once."""

    def __init__(
        self, tokenizer: Tokenizer, trigrams: dict[str, int], *, lower_case: bool, skip_unknown: bool
    ) -> None:
        self.tokenizer = tokenizer
        self.lower_case, self.skip_unknown = lower_case, skip_unknown
        self._special = [token.content for token in tokenizer.get_added_tokens_decoder().values()]
        self._normalize = text_normalizer(lower_case=lower_case)
        points = np.frombuffer("".join(trigrams).encode("utf-32-le"), np.uint32)
        ids = np.fromiter(trigrams.values(), np.int64, len(trigrams))
        characters, indices = np.unique(points, return_inverse=True)
        # 0 is the index of all characters in no trigram, and of all pairs at the beginning of no trigram.
        self._index = np.zeros(_CODE_POINTS, np.int32)
        self._index[characters] = np.arange(1, len(characters) + 1)
        self._base = len(characters) + 1
        first, second, third = indices.reshape(-1, 3).T + 1
        pairs, rows = np.unique(first * self._base + second, return_inverse=True)
        self._table: NDArray[np.int32] | None = None
        if max(self._base, len(pairs) + 1) * self._base <= _TABLE_SIZE:
            self._row = np.zeros(self._base**2, np.int32)
            self._row[pairs] = np.arange(1, len(pairs) + 1)
            self._table = np.full((len(pairs) + 1, self._base), -1, np.int32)
            self._table[rows + 1, third] = ids
        else:
            keys = (first * self._base + second) * self._base + third
            order = np.argsort(keys)
            self._keys, self._ids = keys[order], ids[order]

    @classmethod
    def for_tokenizer(cls, tokenizer: Tokenizer) -> TrigramLookup | None:
        """Make the lookup of a tokenizer by :func:`build_character_trigram_tokenizer`; return None for any other.

        It may have further added tokens if they match the raw text everywhere.
        """
        from tokenizers.models import BPE

        if not looks_like_trigrams(tokenizer) or tokens_around(tokenizer) != ([], []):
            return None
        for token in tokenizer.get_added_tokens_decoder().values():
            if token.single_word or token.lstrip or token.rstrip or token.normalized or not token.content:
                return None
        vocabulary: dict[str, int] = tokenizer.get_vocab(with_added_tokens=False)
        skip_unknown = isinstance(tokenizer.model, BPE)
        trigrams = {text: index for text, index in vocabulary.items() if text not in (PAD_TOKEN, UNKNOWN_TOKEN)}
        if not trigrams or any(len(text) != 3 for text in trigrams):
            return None
        for lower_case in (True, False):
            made = _backend(vocabulary, lower_case=lower_case, skip_unknown=skip_unknown)
            pairs = ((tokenizer.normalizer, made.normalizer), (tokenizer.model, made.model))
            if all(settings_of_part(own) == settings_of_part(expected) for own, expected in pairs):
                return cls(tokenizer, trigrams, lower_case=lower_case, skip_unknown=skip_unknown)
        return None

    def __call__(self, texts: Sequence[str]) -> TokenIds:
        """Compute the ids of some texts. It takes sixty bytes per character, so pass texts in blocks."""
        row = "\n".join(texts)
        if not any(token in row for token in self._special):
            return self._of_windows(texts)
        special = np.array([any(token in text for token in self._special) for text in texts], np.bool_)
        others = TokenIds.of_lists(library_ids(self.tokenizer, list(compress(texts, special))))
        return self._of_windows(list(compress(texts, ~special))).merged(others, special)

    def _of_windows(self, texts: Sequence[str]) -> TokenIds:
        points, centres, offsets = character_windows(texts, self._normalize, lower_case=self.lower_case)
        indices = self._index[points]
        pairs = indices[centres - 1].astype(np.int64) * self._base + indices[centres]
        if self._table is not None:
            ids = self._table[self._row[pairs], indices[centres + 1]].astype(np.int64)
        else:
            keys = pairs * self._base + indices[centres + 1]
            rows = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
            ids = np.where(self._keys[rows] == keys, self._ids[rows], -1)
        unknown = ids < 0
        if not self.skip_unknown:
            ids[unknown] = UNKNOWN_ID
            return TokenIds(ids, offsets)
        return TokenIds(ids[~unknown], ends_of(~unknown)[offsets])


def looks_like_trigrams(tokenizer: Tokenizer) -> bool:
    """Return quickly whether a tokenizer may be a character-trigram tokenizer."""
    expected = {"type": "Split", "pattern": {"Regex": "..."}, "behavior": "Isolated", "invert": False}
    return bool(settings_of_part(tokenizer.pre_tokenizer) == expected)


def _text_steps(lower_case: bool) -> list[normalizers.Normalizer]:
    from tokenizers import Regex, normalizers

    lower = [normalizers.Lowercase()] if lower_case else []
    cleaning = normalizers.Replace(Regex(f"[{CONTROL_CHARS}]"), "")
    return [normalizers.NFKC(), *lower, cleaning, normalizers.Replace(Regex(r"\s+"), " "), normalizers.Strip()]

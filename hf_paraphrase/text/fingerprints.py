"""Fingerprints of normalized sentences, which keep evaluation sentences out of training data.

A fingerprint is the first 16 hexadecimal digits of the SHA-256 of the words of a sentence
(:func:`~.normalization.normalize_words`). Sentences of fewer than four words have none: they are too common. Lists of
older versions are matched by their own definition: version 2 did not separate the letters of scripts without spaces,
and version 1 also cut words at combining marks, such as the vowel signs of Hindi.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .hashing import are_among
from .ngrams import word_ngrams
from .normalization import as_string_array, normalize_words, normalize_words_all
from .words import re2_class, unspaced_letters

if TYPE_CHECKING:
    from .normalization import Texts

VERSION = 3
SHORTEST_IN_WORDS = 4
SHORTEST_NGRAM = 4
MIN_FRACTION = 0.7
"""The minimum fraction of the n-grams of a sentence that occur in a matching set."""


def hash_sentences(normal: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """Compute fingerprints (sentences,), uint64, 0 for none, and which sentences have one (sentences,), bool."""
    long_enough = pc.greater_equal(pc.count_substring(normal, " "), SHORTEST_IN_WORDS - 1)
    mask = long_enough.to_numpy(zero_copy_only=False)
    texts = normal.filter(long_enough).to_pylist()
    digests = b"".join([hashlib.sha256(text.encode()).digest()[:8] for text in texts])
    numbers = np.zeros(len(normal), dtype=np.uint64)
    numbers[mask] = np.frombuffer(digests, dtype=">u8")
    return numbers, mask


def normalize_words_as(version: int, texts: pa.Array, words: pa.Array) -> pa.Array:
    """Normalize words by a version of the fingerprints; `words` are the words in the current version."""
    if version == VERSION:
        return words
    if version == 1:
        differs, normalize = pc.invert(pc.string_is_ascii(texts)), _normalize_version_1
    else:
        differs = pc.match_substring_regex(words, f"[{re2_class(unspaced_letters())}]")
        normalize = partial(normalize_words, split_unspaced=False)
    old = [normalize(text) for text in texts.filter(differs).to_pylist()]
    return pc.replace_with_mask(words, differs, pa.array(old, pa.string()))


def _normalize_version_1(text: str) -> str:
    return re.sub(r"[\W_]+", " ", unicodedata.normalize("NFKC", text).lower()).strip()


class Matcher(Protocol):
    """Finds sentences that resemble a sentence of an evaluation set, from their texts and normalized words."""

    def label(self, name: str) -> str:
        """Return the name under which a report counts the rows that match a set only by this matcher."""

    def add(self, name: str, texts: pa.Array, words: pa.Array) -> None:
        """Add sentences to a set."""

    def match(self, texts: pa.Array, words: pa.Array) -> Mapping[str, Sequence[int] | np.ndarray]:
        """Return the numbers of the matching sentences, ascending, for each set with any."""


class Containment:
    """The n-grams of several named evaluation sets, of normalized sentences.

    A set matches a sentence if at least 70 % of its n-grams occur in the set (with 8-grams: Chowdhery et al. 2022,
    "PaLM", section 8), or if it contains a whole sentence of the set. Sentences of fewer than n words have no n-gram.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._sets_of: dict[str, set[str]] = {}
        self._begun_by: dict[str, list[tuple[str, str]]] = {}

    def label(self, name: str) -> str:
        """Return the name under which a report counts the rows that match a set only by n-grams."""
        return f"{name} ({self.size}-grams)"

    def add(self, name: str, texts: pa.Array, words: pa.Array) -> None:
        """Add a set of sentences."""
        for text in words.to_pylist():
            ngrams = self._ngrams(text)
            for ngram in ngrams:
                self._sets_of.setdefault(ngram, set()).add(name)
            if ngrams:
                self._begun_by.setdefault(ngrams[0], []).append((name, f" {text} "))

    def match(self, texts: pa.Array, words: pa.Array) -> dict[str, list[int]]:
        """Return the numbers of the matching sentences, ascending, for each set with any."""
        rows_by_set: dict[str, list[int]] = {}
        for row, text in enumerate(words.to_pylist()):
            ngrams = self._ngrams(text)
            present = [ngram for ngram in ngrams if ngram in self._sets_of]
            shared = Counter(name for ngram in present for name in self._sets_of[ngram])
            matched = {name for name, count in shared.items() if count >= MIN_FRACTION * len(ngrams)}
            contained = (pair for ngram in present for pair in self._begun_by.get(ngram, ()))
            matched.update(name for name, sentence in contained if sentence in f" {text} ")
            for name in matched:
                rows_by_set.setdefault(name, []).append(row)
        return rows_by_set

    def _ngrams(self, text: str) -> list[str]:
        return [" ".join(ngram) for ngram in word_ngrams(text.split(" "), self.size)]


class Fingerprints:
    """Named sets of sentences as fingerprints (uint64); matchers find more sentences, such as by n-grams."""

    def __init__(self, sets: Mapping[str, np.ndarray], matchers: Sequence[Matcher] = ()) -> None:
        self._matchers = matchers
        self.sets = {name: np.unique(np.asarray(values, dtype=np.uint64)) for name, values in sets.items()}
        self.versions = dict.fromkeys(self.sets, VERSION)

    def add(self, name: str, texts: pa.Array) -> int:
        """Add a set of sentences; return the number of fingerprints."""
        words = normalize_words_all(texts)
        numbers, has_one = hash_sentences(words)
        if not has_one.any():
            return 0
        self.add_fingerprints(name, numbers[has_one])
        for matcher in self._matchers:
            matcher.add(name, texts.filter(pa.array(has_one)), words.filter(pa.array(has_one)))
        return int(has_one.sum())

    def add_fingerprints(self, name: str, numbers: np.ndarray, version: int = VERSION) -> None:
        """Add a set of fingerprints; sets of one name are joined unless their versions differ."""
        if self.versions.get(name, version) != version:
            name = f"{name} (version {version})"
        self.sets[name] = np.unique(np.concatenate([self.sets.get(name, np.empty(0, np.uint64)), numbers]))
        self.versions[name] = version

    @cached_property
    def _by_version(self) -> list[tuple[int, dict[str, np.ndarray], np.ndarray]]:
        """List each version, its sets, and the fingerprints of all its sets together."""
        versions = []
        for version in sorted(set(self.versions.values())):
            sets = {name: values for name, values in self.sets.items() if self.versions[name] == version}
            versions.append((version, sets, np.unique(np.concatenate(list(sets.values())))))
        return versions

    def matches(self, columns: Sequence[Texts]) -> dict[str, np.ndarray]:
        """Return for each set the rows (rows,), bool, with a matching sentence in any column.

        Rows that a set matches only by another matcher have its label, such as `name (8-grams)`.
        """
        size = len(columns[0])
        labels: list[Callable[[str], str]] = [str, *(matcher.label for matcher in self._matchers)]
        masks_by_label: list[dict[str, np.ndarray]] = [{} for _ in labels]
        for column in map(as_string_array, columns):
            texts, words = pc.fill_null(column, ""), normalize_words_all(column)
            matches = [self._equal_sentences(texts, words), *(each.match(texts, words) for each in self._matchers)]
            for masks, rows_by_set in zip(masks_by_label, matches, strict=True):
                for name, rows in rows_by_set.items():
                    masks.setdefault(name, np.zeros(size, dtype=bool))[rows] = True
        matched: dict[str, np.ndarray] = {}
        earlier: dict[str, np.ndarray] = {}
        for label, masks in zip(labels, masks_by_label, strict=True):
            for name in (name for name in self.sets if name in masks):
                new = masks[name] & ~earlier.get(name, np.zeros(size, dtype=bool))
                earlier[name] = earlier.get(name, new) | new
                if new.any():
                    matched[label(name)] = new
        return matched

    def match(self, columns: Sequence[Texts]) -> tuple[np.ndarray, dict[str, int]]:
        """Return which rows (rows,), bool, match any set in any column, and the counts by set."""
        matches = self.matches(columns)
        matched = np.any([np.zeros(len(columns[0]), dtype=bool), *matches.values()], axis=0)
        return matched, {name: int(rows.sum()) for name, rows in matches.items()}

    def _equal_sentences(self, texts: pa.Array, words: pa.Array) -> dict[str, np.ndarray]:
        """Return for each set the numbers of the sentences with a fingerprint in it."""
        rows_by_set: dict[str, np.ndarray] = {}
        for version, sets, fingerprints in self._by_version:
            numbers, has_one = hash_sentences(normalize_words_as(version, texts, words))
            rows = np.flatnonzero(has_one & are_among(numbers, fingerprints))
            for name, values in sets.items() if len(rows) else ():
                rows_by_set[name] = rows[are_among(numbers[rows], values)]
        return rows_by_set

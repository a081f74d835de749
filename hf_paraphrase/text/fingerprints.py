"""Fingerprints of normalised sentences, which keep evaluation sentences out of training data.

A fingerprint is the first 16 hexadecimal digits of the SHA-256 of the words of a sentence
(:func:`~.normalization.normalize_words`). Sentences of fewer than four words have none: they are too common. Lists of
the older versions of this definition are still matched by the version that made them:

* Version 2 took text between spaces as one word, so that most sentences of Chinese, Japanese and Thai had none.
* Version 1 also lower-cased, and cut words at combining marks, so that different sentences of Hindi shared one.
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
SHARE = 0.7
"""The least share of the n-grams of a sentence that must occur in a set."""


def hash_sentences(normal: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """Computes fingerprints (sentences,), uint64, 0 where there is none, and which have one (sentences,), bool."""
    long_enough = pc.greater_equal(pc.count_substring(normal, " "), SHORTEST_IN_WORDS - 1)
    mask = long_enough.to_numpy(zero_copy_only=False)
    sha256 = hashlib.sha256
    digests = b"".join([sha256(text.encode()).digest()[:8] for text in normal.filter(long_enough).to_pylist()])
    numbers = np.zeros(len(normal), dtype=np.uint64)
    numbers[mask] = np.frombuffer(digests, dtype=">u8")
    return numbers, mask


def normalize_words_as(version: int, texts: pa.Array, words: pa.Array) -> pa.Array:
    """Normalizes words as a version of the fingerprints does; `words` are the words in the current version."""
    if version == VERSION:
        return words
    if version == 1:
        differs, normalize = pc.invert(pc.string_is_ascii(texts)), _normalize_as_version_1
    else:
        differs = pc.match_substring_regex(words, f"[{re2_class(unspaced_letters())}]")
        normalize = partial(normalize_words, split_unspaced=False)
    old = [normalize(text) for text in texts.filter(differs).to_pylist()]
    return pc.replace_with_mask(words, differs, pa.array(old, pa.string()))


def _normalize_as_version_1(text: str) -> str:
    return re.sub(r"[\W_]+", " ", unicodedata.normalize("NFKC", text).lower()).strip()


class Matcher(Protocol):
    """A way to find sentences that are like one of an evaluation set; they come as they are and as their words."""

    def label(self, name: str) -> str:
        """Return the name under which rows that a set matched in this way only are counted."""

    def add(self, name: str, texts: pa.Array, words: pa.Array) -> None:
        """Add sentences to a set."""

    def match(self, texts: pa.Array, words: pa.Array) -> Mapping[str, Sequence[int] | np.ndarray]:
        """Find for each set that matches any sentence the numbers of those, ascending."""


class Containment:
    """The n-grams of several named evaluation sets, of normalised sentences.

    A set matches a sentence if at least 70 % of its n-grams occur in the set (of 8-grams: Chowdhery et al. 2022,
    "PaLM", section 8), or if a sentence of the set stands as a whole in it. Sentences of fewer than n words have no
    n-gram, and are matched exactly only.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._sets_of: dict[str, set[str]] = {}
        self._begun_by: dict[str, list[tuple[str, str]]] = {}

    def label(self, name: str) -> str:
        """Return the name under which rows that a set matched by n-grams only are counted."""
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
        """Find for each set that matches any sentence the numbers of those, ascending."""
        rows_by_set: dict[str, list[int]] = {}
        for row, text in enumerate(words.to_pylist()):
            ngrams = self._ngrams(text)
            known = [ngram for ngram in ngrams if ngram in self._sets_of]
            shared = Counter(name for ngram in known for name in self._sets_of[ngram])
            matched = {name for name, number in shared.items() if number >= SHARE * len(ngrams)}
            contained = (pair for ngram in known for pair in self._begun_by.get(ngram, ()))
            matched.update(name for name, sentence in contained if sentence in f" {text} ")
            for name in matched:
                rows_by_set.setdefault(name, []).append(row)
        return rows_by_set

    def _ngrams(self, text: str) -> list[str]:
        return [" ".join(ngram) for ngram in word_ngrams(text.split(" "), self.size)]


class Fingerprints:
    """Named sets of sentences as fingerprints (uint64; some of version 1), and further matchers of sentences."""

    def __init__(self, sets: Mapping[str, np.ndarray], matchers: Sequence[Matcher] = ()) -> None:
        self._matchers = matchers
        self.sets = {name: np.unique(np.asarray(values, dtype=np.uint64)) for name, values in sets.items()}
        self.versions = dict.fromkeys(self.sets, VERSION)

    def add(self, name: str, texts: pa.Array) -> int:
        """Add a set of sentences; returns how many have a fingerprint."""
        words = normalize_words_all(texts)
        numbers, has_one = hash_sentences(words)
        if not has_one.any():
            return 0
        self.add_numbers(name, numbers[has_one])
        for matcher in self._matchers:
            matcher.add(name, texts.filter(pa.array(has_one)), words.filter(pa.array(has_one)))
        return int(has_one.sum())

    def add_numbers(self, name: str, numbers: np.ndarray, version: int = VERSION) -> None:
        """Add a set of fingerprints."""
        self.sets[name] = np.unique(np.concatenate([self.sets.get(name, np.empty(0, np.uint64)), numbers]))
        self.versions[name] = version

    @cached_property
    def _by_version(self) -> list[tuple[int, set[str], np.ndarray]]:
        """The sets of each version, and all their fingerprints."""
        return [
            (
                version,
                {name for name in self.sets if self.versions[name] == version},
                np.unique(
                    np.concatenate([values for name, values in self.sets.items() if self.versions[name] == version])
                ),
            )
            for version in sorted(set(self.versions.values()))
        ]

    def matches(self, columns: Sequence[Texts]) -> dict[str, np.ndarray]:
        """Find for each set with a match the rows (rows,), bool, with a sentence of it in any column.

        What a set matches in another way only stands under its label, such as `name (8-grams)`.
        """
        size = len(columns[0])
        labels: list[Callable[[str], str]] = [str, *(matcher.label for matcher in self._matchers)]
        found: list[dict[str, np.ndarray]] = [{} for _ in labels]
        for column in map(as_string_array, columns):
            texts, words = pc.fill_null(column, ""), normalize_words_all(column)
            ways = [self._equal_sentences(texts, words), *(way.match(texts, words) for way in self._matchers)]
            for masks, rows_by_set in zip(found, ways, strict=True):
                for name, rows in rows_by_set.items():
                    masks.setdefault(name, np.zeros(size, dtype=bool))[rows] = True
        matched: dict[str, np.ndarray] = {}
        earlier: dict[str, np.ndarray] = {}
        for label, masks in zip(labels, found, strict=True):
            for name in (name for name in self.sets if name in masks):
                new = masks[name] & ~earlier.get(name, np.zeros(size, dtype=bool))
                earlier[name] = earlier.get(name, new) | new
                if new.any():
                    matched[label(name)] = new
        return matched

    def match(self, columns: Sequence[Texts]) -> tuple[np.ndarray, dict[str, int]]:
        """Find the rows (rows,), bool, with a sentence of any set in any column, and count them by set."""
        matches = self.matches(columns)
        matched = np.any([np.zeros(len(columns[0]), dtype=bool), *matches.values()], axis=0)
        return matched, {name: int(rows.sum()) for name, rows in matches.items()}

    def _equal_sentences(self, texts: pa.Array, words: pa.Array) -> dict[str, np.ndarray]:
        """Find for each set the numbers of the sentences with a fingerprint that is in it."""
        rows_by_set: dict[str, np.ndarray] = {}
        for version, names, known in self._by_version:
            numbers, has_one = hash_sentences(normalize_words_as(version, texts, words))
            rows = np.flatnonzero(has_one & are_among(numbers, known))
            for name in names if len(rows) else ():
                rows_by_set[name] = rows[are_among(numbers[rows], self.sets[name])]
        return rows_by_set

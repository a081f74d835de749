"""Fingerprints of normalised sentences, by which training data are kept separate from evaluation data.

A fingerprint is the first 16 hexadecimal digits of the SHA-256 of the words of a sentence (`same_text.words_of`).
Sentences of fewer than four words have none: they are so common that they tell nothing. Version 1 of the definition
lower-cased and took combining marks for the ends of words, so that different sentences of Hindi or Arabic shared
fingerprints; lists of it are still matched by it.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Protocol, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .same_text import words_of, words_of_all

VERSION = 2
SHORTEST_IN_WORDS = 4
SHORTEST_NGRAM = 4
SHARE = 0.7
"""The least share of the n-grams of a sentence that must occur in a set."""
normalise = words_of
normalise_all = words_of_all
Texts: TypeAlias = pa.Array | pa.ChunkedArray | Sequence[str]


def fingerprint_normalised(normal: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """Computes fingerprints (sentences,), uint64, 0 where there is none, and which have one (sentences,), bool."""
    long_enough = pc.greater_equal(pc.count_substring(normal, " "), SHORTEST_IN_WORDS - 1)
    mask = long_enough.to_numpy(zero_copy_only=False)
    sha256 = hashlib.sha256
    digests = b"".join([sha256(text.encode()).digest()[:8] for text in normal.filter(long_enough).to_pylist()])
    numbers = np.zeros(len(normal), dtype=np.uint64)
    numbers[mask] = np.frombuffer(digests, dtype=">u8")
    return numbers, mask


def normalise_as_version_1(text: str) -> str:
    """Returns a text as version 1 of the fingerprints saw it."""
    return re.sub(r"[\W_]+", " ", unicodedata.normalize("NFKC", text).lower()).strip()


def _of_version_1(texts: pa.Array, normal: pa.Array) -> pa.Array:
    """Returns texts as version 1 saw them; those in ASCII are the same in both versions."""
    other = pc.invert(pc.string_is_ascii(texts))
    old = [normalise_as_version_1(text) for text in texts.filter(other).to_pylist()]
    return pc.replace_with_mask(normal, other, pa.array(old, pa.string()))


class Matcher(Protocol):
    """A way to find sentences that are like one of an evaluation set; they come as they are and as their words."""

    def label(self, name: str) -> str:
        """Returns the name under which rows that a set matched in this way only are counted."""

    def add(self, name: str, texts: pa.Array, words: pa.Array) -> None:
        """Adds sentences to a set."""

    def match(self, texts: pa.Array, words: pa.Array) -> Mapping[str, Sequence[int] | np.ndarray]:
        """Finds for each set that matches any sentence the numbers of those, ascending."""


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
        """Returns the name under which rows that a set matched by n-grams only are counted."""
        return f"{name} ({self.size}-grams)"

    def add(self, name: str, texts: pa.Array, words: pa.Array) -> None:
        """Adds a set of sentences."""
        for text in words.to_pylist():
            ngrams = self._ngrams(text)
            for ngram in ngrams:
                self._sets_of.setdefault(ngram, set()).add(name)
            if ngrams:
                self._begun_by.setdefault(ngrams[0], []).append((name, f" {text} "))

    def match(self, texts: pa.Array, words: pa.Array) -> dict[str, list[int]]:
        """Finds for each set that matches any sentence the numbers of those, ascending."""
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
        words = text.split(" ")
        return [" ".join(words[start : start + self.size]) for start in range(len(words) - self.size + 1)]


class Fingerprints:
    """Named sets of sentences as fingerprints (uint64; some of version 1), and other ways to match the sentences."""

    def __init__(self, sets: Mapping[str, np.ndarray], matchers: Sequence[Matcher] = ()) -> None:
        self._matchers = matchers
        self.sets = {name: np.unique(np.asarray(values, dtype=np.uint64)) for name, values in sets.items()}
        self.version_1: set[str] = set()

    def add(self, name: str, texts: pa.Array) -> int:
        """Adds a set of sentences; returns how many have a fingerprint."""
        words = words_of_all(texts)
        numbers, has_one = fingerprint_normalised(words)
        if not has_one.any():
            return 0
        self.add_numbers(name, numbers[has_one])
        for matcher in self._matchers:
            matcher.add(name, texts.filter(pa.array(has_one)), words.filter(pa.array(has_one)))
        return int(has_one.sum())

    def add_numbers(self, name: str, numbers: np.ndarray, version: int = VERSION) -> None:
        """Adds a set of fingerprints."""
        self.sets[name] = np.unique(np.concatenate([self.sets.get(name, np.empty(0, np.uint64)), numbers]))
        if version == 1:
            self.version_1.add(name)

    @cached_property
    def _by_version(self) -> list[tuple[int, set[str], np.ndarray]]:
        """The sets of each version, and all their fingerprints."""
        names = {1: self.version_1, VERSION: self.sets.keys() - self.version_1}
        return [
            (version, set(named), np.unique(np.concatenate([self.sets[name] for name in named])))
            for version, named in names.items()
            if named
        ]

    def matches(self, columns: Sequence[Texts]) -> dict[str, np.ndarray]:
        """Finds for each set that matches any the rows (rows,), bool, of which any column holds a sentence of it.

        What a set matches in another way only stands under its label, such as `name (8-grams)`.
        """
        size = len(columns[0])
        labels: list[Callable[[str], str]] = [str, *(matcher.label for matcher in self._matchers)]
        found: list[dict[str, np.ndarray]] = [{} for _ in labels]
        for column in map(as_texts, columns):
            texts, words = pc.fill_null(column, ""), words_of_all(column)
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
        """Finds the rows (rows,), bool, of which any column holds a sentence of a set, and counts them by set."""
        matches = self.matches(columns)
        matched = np.any([np.zeros(len(columns[0]), dtype=bool), *matches.values()], axis=0)
        return matched, {name: int(rows.sum()) for name, rows in matches.items()}

    def _equal_sentences(self, texts: pa.Array, words: pa.Array) -> dict[str, np.ndarray]:
        """Finds for each set the numbers of the sentences with a fingerprint that is in it."""
        rows_by_set: dict[str, np.ndarray] = {}
        for version, names, known in self._by_version:
            numbers, has_one = fingerprint_normalised(words if version == VERSION else _of_version_1(texts, words))
            rows = np.flatnonzero(has_one & is_among(numbers, known))
            for name in names if len(rows) else ():
                rows_by_set[name] = rows[is_among(numbers[rows], self.sets[name])]
        return rows_by_set


def is_among(numbers: np.ndarray, ascending: np.ndarray) -> np.ndarray:
    """Returns which numbers (n,) are among some that are sorted: few are looked up in many, again and again."""
    if not len(ascending):
        return np.zeros(len(numbers), dtype=np.bool_)
    return np.take(ascending, np.searchsorted(ascending, numbers), mode="clip") == numbers


def as_texts(texts: Texts) -> pa.Array:
    """Returns a column of texts as one Arrow array of strings."""
    if isinstance(texts, pa.ChunkedArray):
        texts = texts.combine_chunks()
    if isinstance(texts, pa.Array):
        return texts if texts.type == pa.string() else texts.cast(pa.string())
    return pa.array(list(texts), pa.string())

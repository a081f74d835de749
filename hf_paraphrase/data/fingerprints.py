"""Fingerprints of normalised sentences, by which training data are kept separate from evaluation data.

A fingerprint is the first 16 hexadecimal digits of the SHA-256 of the words of a sentence (`same_text.words_of`: NFKC,
case folding, letters, marks and digits, single spaces). Sentences of fewer than four words have none: they are so
common that they tell nothing. A list of fingerprints can be handed on where the sentences themselves cannot. Where
these are at hand, sentences that only contain or resemble evaluation sentences can be found too, by their n-grams.

That is version 2 of the definition. Version 1 lower-cased and took combining marks for the ends of words, so that
different sentences of Hindi, Thai, Tamil or Arabic shared fingerprints; lists of it are still matched by it.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
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
_NOT_ALPHANUMERIC = re.compile(r"[\W_]+")
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
    return _NOT_ALPHANUMERIC.sub(" ", unicodedata.normalize("NFKC", text).lower()).strip()


def _of_version_1(texts: pa.Array, normal: pa.Array) -> pa.Array:
    """Returns texts as version 1 saw them; those in ASCII are the same in both versions."""
    texts = pc.fill_null(texts, "")
    other = pc.invert(pc.string_is_ascii(texts))
    old = [normalise_as_version_1(text) for text in texts.filter(other).to_pylist()]
    return pc.replace_with_mask(normal, other, pa.array(old, pa.string()))


class Matcher(Protocol):
    """A way to find sentences that are not in an evaluation set, but like one that is."""

    @property
    def names(self) -> Sequence[str]:
        """The sets."""

    def label(self, name: str) -> str:
        """Returns the name under which rows that a set matched in this way only are counted."""

    def add(self, name: str, texts: pa.Array) -> None:
        """Adds sentences to a set."""

    def match(self, texts: pa.Array) -> Mapping[str, Sequence[int] | np.ndarray]:
        """Finds for each set that matches any sentence the numbers of those, ascending."""


class Containment:
    """The n-grams of several named evaluation sets, of normalised sentences.

    A set matches a sentence if at least 70 % of the n-grams of the sentence occur in it (of 8-grams: Chowdhery et al.
    2022, "PaLM", section 8), or if one of its sentences, of n words or more, stands as a whole in the sentence.
    Sentences of fewer than n words have no n-gram, and are matched exactly only.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.names: list[str] = []
        self._sets_of: dict[str, set[str]] = {}
        self._begun_by: dict[str, list[tuple[str, str]]] = {}

    def label(self, name: str) -> str:
        """Returns the name under which rows that a set matched by n-grams only are counted."""
        return f"{name} ({self.size}-grams)"

    def add(self, name: str, texts: pa.Array) -> None:
        """Adds a set of sentences."""
        self.names.append(name)
        for text in texts.to_pylist():
            ngrams = self._ngrams(text)
            for ngram in ngrams:
                self._sets_of.setdefault(ngram, set()).add(name)
            if ngrams:
                self._begun_by.setdefault(ngrams[0], []).append((name, f" {text} "))

    def match(self, texts: pa.Array) -> dict[str, list[int]]:
        """Finds for each set that matches any sentence the numbers of those, ascending."""
        rows_by_set: dict[str, list[int]] = {}
        for row, text in enumerate(texts.to_pylist()):
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
    """The fingerprints of several named sets of sentences, uint64 numbers, and what else matches those that are known.

    Of the matchers `words` is given the words of the sentences, and `whole` the sentences as they are. `version_1` are
    the names of the sets whose fingerprints are of version 1.
    """

    def __init__(
        self, sets: Mapping[str, np.ndarray], words: Matcher | None = None, whole: Matcher | None = None
    ) -> None:
        self._words, self._whole = words, whole
        self.sets = {name: np.unique(np.asarray(values, dtype=np.uint64)) for name, values in sets.items()}
        self.version_1: set[str] = set()

    def add(self, name: str, texts: pa.Array) -> int:
        """Adds a set of sentences; returns how many have a fingerprint."""
        normal = words_of_all(texts)
        numbers, has_one = fingerprint_normalised(normal)
        if not has_one.any():
            return 0
        self.add_numbers(name, numbers[has_one])
        if self._words is not None:
            self._words.add(name, normal)
        if self._whole is not None:
            self._whole.add(name, texts.filter(pa.array(has_one)))
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
        every = {
            version: np.concatenate([self.sets[name] for name in named]) for version, named in names.items() if named
        }
        return [(version, set(names[version]), np.unique(values)) for version, values in every.items()]

    def __len__(self) -> int:
        return len(np.unique(np.concatenate([np.empty(0, np.uint64), *self.sets.values()])))

    @property
    def names(self) -> list[str]:
        """The names under which rows that are matched are counted."""
        matchers = [matcher for matcher in (self._words, self._whole) if matcher is not None]
        return [
            label
            for name in self.sets
            for label in (name, *(matcher.label(name) for matcher in matchers if name in matcher.names))
        ]

    def matches(self, columns: Sequence[Texts]) -> dict[str, np.ndarray]:
        """Finds for each set that matches any the rows (rows,), bool, of which any column holds a sentence of it.

        As `name (8-grams)` those come that a set matches by n-grams and not exactly, as `name (similarity 0.9)` those
        that it matches by similarity and in no other way.
        """
        rows_by_set: dict[str, np.ndarray] = {}
        others: list[tuple[Matcher, dict[str, np.ndarray]]] = [
            (matcher, {}) for matcher in (self._words, self._whole) if matcher is not None
        ]
        for column in map(as_texts, columns):
            normal = words_of_all(column)
            for version, names, known in self._by_version:
                texts = normal if version == VERSION else _of_version_1(column, normal)
                numbers, has_one = fingerprint_normalised(texts)
                rows = np.flatnonzero(has_one & is_among(numbers, known))
                for name in names if len(rows) else ():
                    _add(rows_by_set, name, rows[is_among(numbers[rows], self.sets[name])], len(normal))
            for matcher, masks in others:
                texts = normal if matcher is self._words else pc.fill_null(column, "")
                for name, found in matcher.match(texts).items():
                    _add(masks, name, np.asarray(found), len(normal))
        matched = {name: rows_by_set[name] for name in self.sets if name in rows_by_set}
        for matcher, masks in others:
            for name, mask in masks.items():
                for earlier in matched.keys() & {name, *(other.label(name) for other, _ in others)}:
                    mask &= ~matched[earlier]
                if mask.any():
                    matched[matcher.label(name)] = mask
        return matched

    def match(self, columns: Sequence[Texts]) -> tuple[np.ndarray, dict[str, int]]:
        """Finds the rows (rows,), bool, of which any column holds a sentence of a set, and counts them by set."""
        matches = self.matches(columns)
        matched = np.zeros(len(columns[0]), dtype=bool)
        for rows in matches.values():
            matched |= rows
        return matched, {name: int(rows.sum()) for name, rows in matches.items()}

    def contains(self, texts: Texts) -> np.ndarray:
        """Returns which sentences occur in any of the sets: (sentences,), bool."""
        return self.match([texts])[0]


def _add(masks: dict[str, np.ndarray], name: str, rows: np.ndarray, size: int) -> None:
    if len(rows):
        masks.setdefault(name, np.zeros(size, dtype=bool))[rows] = True


def is_among(numbers: np.ndarray, ascending: np.ndarray) -> np.ndarray:
    """Returns which numbers (n,) are among some that are sorted: few are looked up in many, again and again."""
    if not len(ascending):
        return np.zeros(len(numbers), dtype=np.bool_)
    is_present: np.ndarray = np.take(ascending, np.searchsorted(ascending, numbers), mode="clip") == numbers
    return is_present


def as_texts(texts: Texts) -> pa.Array:
    """Returns a column of texts as one Arrow array of strings."""
    if isinstance(texts, pa.ChunkedArray):
        texts = texts.combine_chunks()
    if isinstance(texts, pa.Array):
        return texts if texts.type == pa.string() else texts.cast(pa.string())
    return pa.array(list(texts), pa.string())

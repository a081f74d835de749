"""Fingerprints of normalised sentences, by which training data are kept separate from evaluation data.

A fingerprint is the first 16 hexadecimal digits of the SHA-256 of the UTF-8 text of a sentence after NFKC,
lower-casing, turning every run of characters that are not alphanumeric into one space, and stripping. Sentences of
fewer than four words have none: they are so common that they tell nothing. A list of fingerprints can be handed on
where the sentences themselves cannot. Sentences that only contain or resemble evaluation sentences can be found too,
where these are at hand: see `containment.py`.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .containment import Containment, combined

SHORTEST_IN_WORDS = 4
_NOT_ALPHANUMERIC = re.compile(r"[\W_]+")


def normalise(text: str) -> str:
    """Returns `text` as its fingerprint sees it: NFKC, lower case, words of letters and digits with single spaces."""
    return _NOT_ALPHANUMERIC.sub(" ", unicodedata.normalize("NFKC", text).lower()).strip()


def normalise_all(texts: pa.Array) -> pa.Array:
    """Applies :func:`normalise` to every string; those that are pure ASCII are done in one go."""
    texts = pc.fill_null(texts, "")
    # Lower-casing and character classes of Arrow and Python agree on ASCII only.
    ascii_only = pc.string_is_ascii(texts)
    easy = pc.replace_substring_regex(pc.ascii_lower(texts), r"[^0-9a-z]+", " ")
    result = pc.ascii_trim_whitespace(easy)
    if pc.all(ascii_only, min_count=0).as_py():
        return result
    hard = [normalise(text) for text in texts.filter(pc.invert(ascii_only)).to_pylist()]
    return pc.replace_with_mask(result, pc.invert(ascii_only), pa.array(hard, pa.string()))


def fingerprint_sentence(text: str) -> str | None:
    """Returns the 16 hexadecimal digits that stand for a sentence; None if it has fewer than four words."""
    normal = normalise(text)
    if normal.count(" ") + 1 < SHORTEST_IN_WORDS:
        return None
    return hashlib.sha256(normal.encode()).hexdigest()[:16]


def fingerprint_sentences(texts: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """Computes the fingerprints of many sentences.

    Args:
        texts: Strings, (sentences,).

    Returns:
        The fingerprints as numbers (sentences,), uint64, 0 where there is none; and which have one (sentences,), bool.
    """
    return fingerprint_normalised(normalise_all(texts))


def fingerprint_normalised(normal: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """Computes what :func:`fingerprint_sentences` does of sentences that are normalised already."""
    long_enough = pc.greater_equal(pc.count_substring(normal, " "), SHORTEST_IN_WORDS - 1)
    mask = long_enough.to_numpy(zero_copy_only=False)
    sha256 = hashlib.sha256
    digests = b"".join([sha256(text.encode()).digest()[:8] for text in normal.filter(long_enough).to_pylist()])
    numbers = np.zeros(len(normal), dtype=np.uint64)
    numbers[mask] = np.frombuffer(digests, dtype=">u8")
    return numbers, mask


class Fingerprints:
    """The fingerprints of several named sets of sentences.

    Args:
        sets: For each set its fingerprints as uint64 numbers, in any order.
        containment: The n-grams of those sets whose sentences are known; rows are then compared by them as well.
    """

    def __init__(self, sets: Mapping[str, np.ndarray], containment: Containment | None = None) -> None:
        self.containment = containment
        self.sets = {name: np.unique(np.asarray(values, dtype=np.uint64)) for name, values in sets.items()}
        self._all = np.unique(np.concatenate([*self.sets.values(), np.empty(0, np.uint64)]))

    def __len__(self) -> int:
        return len(self._all)

    @property
    def names(self) -> list[str]:
        """The names under which rows that are matched are counted."""
        if self.containment is None:
            return list(self.sets)
        by_ngrams = self.containment.sets
        labels = self.containment.label
        return [label for name in self.sets for label in (name, labels(name)) if label == name or name in by_ngrams]

    @property
    def sizes(self) -> dict[str, int]:
        """The number of different fingerprints in each set."""
        return {name: len(values) for name, values in self.sets.items()}

    def match(
        self, columns: Sequence[pa.Array | pa.ChunkedArray | Sequence[str]]
    ) -> tuple[np.ndarray, dict[str, int]]:
        """Finds the rows of which any column holds a sentence of the sets.

        Args:
            columns: One or more columns of strings, all of length rows.

        Returns:
            Which rows are matched (rows,), bool; and for each set that matched any, how many rows it matched. A row in
            several sets counts in each, so the counts may add up to more than the matched rows. Rows that a set
            matched by n-grams and not exactly are counted as `name (8-grams)`.
        """
        normal = [normalise_all(as_texts(column)) for column in columns]
        column_fingerprints = [fingerprint_normalised(texts) for texts in normal]
        hits = [mask & is_among(numbers, self._all) for numbers, mask in column_fingerprints]
        matched = np.logical_or.reduce(hits)
        counts = {}
        exact: dict[str, np.ndarray] = {}
        for name, values in self.sets.items() if matched.any() else ():
            in_set = (
                hit & is_among(numbers, values) for hit, (numbers, _) in zip(hits, column_fingerprints, strict=True)
            )
            exact[name] = np.logical_or.reduce(list(in_set))
            if rows := int(exact[name].sum()):
                counts[name] = rows
        if self.containment is not None:
            for name, by_ngrams in combined([self.containment.match(texts) for texts in normal]).items():
                only = by_ngrams & ~exact[name] if name in exact else by_ngrams
                if rows := int(only.sum()):
                    counts[self.containment.label(name)] = rows
                matched = matched | by_ngrams
        return matched, counts

    def contains(self, texts: pa.Array | pa.ChunkedArray | Sequence[str]) -> np.ndarray:
        """Returns which sentences occur in any of the sets: (sentences,), bool."""
        return self.match([texts])[0]


def is_among(numbers: np.ndarray, ascending: np.ndarray) -> np.ndarray:
    """Returns which numbers (n,) are among some that are sorted: few are looked up in many, again and again."""
    if not len(ascending):
        return np.zeros(len(numbers), dtype=np.bool_)
    is_present: np.ndarray = np.take(ascending, np.searchsorted(ascending, numbers), mode="clip") == numbers
    return is_present


def as_texts(texts: pa.Array | pa.ChunkedArray | Sequence[str]) -> pa.Array:
    """Returns a column of texts as one Arrow array of strings."""
    if isinstance(texts, pa.ChunkedArray):
        texts = texts.combine_chunks()
    if isinstance(texts, pa.Array):
        return texts if texts.type == pa.string() else texts.cast(pa.string())
    return pa.array(list(texts), pa.string())

"""Contrasts: texts that differ only in negation or numbers, and are no duplicates although their vectors are near."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..data.row_selection import take_rows
from ..text.hashing import hash64
from ..text.normalization import normalize_text
from ..text.words import tokenize

_NEGATION = re.compile(
    # English, German and Polish, French, Spanish, Portuguese, Italian, Dutch, Russian, Danish and Swedish, Finnish,
    # Turkish, Arabic, Chinese
    "not|n't|no|never|none|nobody|nothing|nowhere|neither|nor|without|cannot|cant|dont|doesnt|didnt|isnt|wasnt|wont|"
    "nicht|nie|kein(?:e[mnrs]?)?|nichts|niemals|niemand|weder|ohne|ne|pas|jamais|aucune?|rien|personne|sans|"
    "nunca|nada|nadie|ningún|ninguna|ni|sin|não|nem|sem|non|mai|nessun[oa]|niente|senza|"
    "niet|geen|nooit|niemands?|niets|не|нет|ни|никогда|без|ikke|aldrig|inte|ej|ingen|inget|inga|intet|utan|uden|"
    "ei|emme|ette|eivät|älä|değil|yok|لا|ليس|ليست|لم|لن|بدون|不|没|沒|未|别|別|無|无"
)
_NUMBER = re.compile(
    r".*\d.*|zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|(?:thir|four|fif|six|seven|eigh|nine)teen|"
    "twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred|thousand|million|billion"
)
_AUXILIARIES = frozenset(["do", "does", "did"])
"""Words that English adds to a verb only to negate it or to ask."""
_STEMS = {"ca": "can", "wo": "will", "sha": "shall"}
"""The stems of "can't", "won't" and "shan't", without "n't"."""
_TEXTS = pa.schema([("text", pa.string())])


def split_contrast(text: str) -> tuple[str, str]:
    """Return the words of a text except auxiliaries, and then its numbers with the count of its negations."""
    others, numbers, negations = [], [], 0
    for word in tokenize(normalize_text(text)):
        if _NEGATION.fullmatch(word):
            negations += 1
        elif _NUMBER.fullmatch(word):
            numbers.append(word)
        elif word not in _AUXILIARIES:
            others.append(_STEMS.get(word, word))
    return " ".join(others), f"{negations} {' '.join(numbers)}"


class Contrasts:
    """Finds pairs of texts that differ only in negation or numbers; each text is read at its first comparison."""

    def __init__(self, texts: pa.ChunkedArray) -> None:
        self._batches = pa.table({"text": texts}).to_batches()
        self._starts = np.cumsum([0, *map(len, self._batches)]).tolist()
        self._is_read = np.zeros(len(texts), bool)
        self._hashes = np.zeros((2, len(texts)), np.uint64)

    def differ(self, first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which pairs of rows (pairs,) have contrasting texts."""
        unread = np.unique(np.concatenate([side[~self._is_read[side]] for side in (first, second)]))
        if len(unread):
            table = take_rows(self._batches.__getitem__, self._starts, unread, _TEXTS)
            texts = (text or "" for text in table.column("text").to_pylist())
            parts = zip(*map(split_contrast, texts), strict=True)
            self._hashes[:, unread] = [hash64(side) for side in parts]
            self._is_read[unread] = True
        others, own = self._hashes
        return np.asarray((others[first] == others[second]) & (own[first] != own[second]), bool)

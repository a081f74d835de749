"""Detects texts that an encoder cannot read: in a script or language that its card does not list, or of unknown words.

An encoder of English also detects the other languages of `multilingual` in Latin script, by their function words.

The embeddings of such texts depend only on their digits and punctuation, so all of them are similar.
"""

from __future__ import annotations

import logging
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .backends.base import Backend, TokenBackend

MAX_FRACTION = 0.1
"""The fraction of unreadable texts above which the user is warned."""
_SAMPLE, _TEXTS, _CHARACTERS = 64, 4096, 200
_LOGGER = logging.getLogger(__name__)
_SCRIPTS = {
    "CYRILLIC": "ab av ba be bg ce cv kk ky mk mn ru sr tg tt uk",
    "ARABIC": "ar ckb fa ps sd ug ur",
    "HEBREW": "he yi",
    "GREEK": "el",
    "DEVANAGARI": "hi mr ne sa",
    "BENGALI": "as bn",
    "CJK": "ja zh yue",
    "HIRAGANA": "ja",
    "KATAKANA": "ja",
    "HANGUL": "ko",
    "THAI": "th",
    "GEORGIAN": "ka",
    "ARMENIAN": "hy",
    "TAMIL": "ta",
    "TELUGU": "te",
    "KANNADA": "kn",
    "MALAYALAM": "ml",
    "GUJARATI": "gu",
    "GURMUKHI": "pa",
    "SINHALA": "si",
    "KHMER": "km",
    "LAO": "lo",
    "MYANMAR": "my",
    "ETHIOPIC": "am ti",
    "TIBETAN": "bo dz",
}
"""The languages of each script besides Latin, the script of all other languages."""
_SCRIPTS_OF = {
    code: {script for script, codes in _SCRIPTS.items() if code in codes.split()}
    for code in " ".join(_SCRIPTS.values()).split()
}
_FUNCTION_WORDS = {
    "en": "the of and to is that it you with was are as be this he at by have from or what not for on i my do in a",
    "cs": "je nebo že jako jsem jsou když který která aby není také bylo jsme ale jeho před se si",
    "da": "og jeg af ikke som på eller skal være hvad denne også det til mig kan",
    "de": "und ein eine einen einem ist nicht mit auf das sich für ich sind wird werden oder zu wie dem",
    "es": "una por con como está pero más muy que su sus este mi es",
    "fi": "ja ei että oli mitä kun minun voi joka ovat mutta ole tämä myös hän olen onko minä minulle voidaan jos",
    "fr": "les une est dans pour qui pas avec sur je il elle nous vous ce sont et au que deux",
    "it": "che è della il di una sono gli nel nella alla con ho delle questo",
    "nl": "het een niet dat ik voor met zijn aan maar ook naar deze wordt om te twee mijn",
    "pl": "nie się na jest że jak ale czy są być jego przez dla tak od był lub po jako",
    "pt": "uma é não um com ou pode são mais você isso está que em os ao por este dois",
    "sv": "och att jag på är inte för av med som till ett från två när",
    "tr": "bir bu ve için mı ile çok daha değil olarak gibi bana ne lütfen",
}
"""Frequent words of languages in Latin script."""
_MANY_LANGUAGES = frozenset(["multilingual", "mul"])
_WORD = re.compile(r"(?<![.@\w])[^\W\d_]+")
"""A word, but not the `com` of an address, which is Portuguese."""


@dataclass
class UnreadableTexts:
    """The number of texts that an encoder cannot read, and an example."""

    num_texts: int
    num_unreadable: int
    example: str

    @property
    def are_many(self) -> bool:
        """Whether to warn the user."""
        return self.num_unreadable > MAX_FRACTION * self.num_texts

    def __str__(self) -> str:
        fraction = self.num_unreadable / max(self.num_texts, 1)
        return (
            f"the encoder does not read the language of {fraction:.0%} of the texts, such as `{self.example[:60]}`: "
            "their embeddings mean little"
        )


class LanguageCoverage:
    """Checks a sample of the texts that an encoder is given, and warns once if it cannot read many of them."""

    def __init__(self, folder: Path | None) -> None:
        listed = [] if folder is None else read_card_languages(folder)
        languages = {*listed} - _MANY_LANGUAGES
        self.scripts: set[str] = set()
        for language in languages:
            self.scripts |= _SCRIPTS_OF.get(language, {"LATIN"})
        self.words, self.other_words = _divide_function_words({*listed})
        # A user of a multilingual encoder has chosen it instead of the built-in one.
        is_multilingual = len(listed) > 1 or len(languages) < len(listed)
        self.remedy = "Use an encoder of that language" + ("" if is_multilingual else ", such as multilingual")
        self.num_checked, self.has_warned = 0, False

    def check(self, backend: Backend, texts: Sequence[str]) -> None:
        """Warn once if many texts are in a language that the encoder does not read."""
        if self.has_warned or self.num_checked >= _TEXTS or not len(texts):
            return
        sample = [text for text in texts[:: -(-len(texts) // _SAMPLE)] if text]
        self.num_checked += len(sample)
        unreadable = self.find_unreadable(backend, sample)
        if unreadable.are_many:
            self.has_warned = True
            _LOGGER.warning("%s. %s", unreadable, self.remedy)

    def find_unreadable(self, backend: Backend, texts: Sequence[str]) -> UnreadableTexts:
        """Count the texts in a script or language that the card does not list, or of mostly unknown tokens."""
        is_unreadable = np.array([self._has_other_script(text) for text in texts], np.bool_)
        other_words = np.array([self._count_other_words(text) for text in texts], np.int64).clip(0)
        # One word, as in the query `om puri`, may be a name.
        if other_words.sum() > 1:
            is_unreadable |= other_words > 0
        if isinstance(backend, TokenBackend) and texts:
            unknown_id, _ = backend.special_tokens()
            if unknown_id is not None:
                tokenizer = backend.batch_tokenizer
                num_truncated = tokenizer.num_truncated
                ids, offsets = backend.token_ids(list(texts))
                tokenizer.num_truncated = num_truncated
                unknown = np.concatenate([[0], (ids == unknown_id).cumsum()])[offsets]
                is_unreadable |= 2 * np.diff(unknown) > np.diff(offsets)
        rows = np.flatnonzero(is_unreadable)
        return UnreadableTexts(len(texts), len(rows), texts[rows[0]] if len(rows) else "")

    def _has_other_script(self, text: str) -> bool:
        if not self.scripts:
            return False
        if text.isascii():
            return "LATIN" not in self.scripts and any(map(str.isalpha, text))
        letters = Counter(
            unicodedata.name(letter, "").split(" ")[0] for letter in text[:_CHARACTERS] if letter.isalpha()
        )
        return bool(letters) and letters.most_common(1)[0][0] not in self.scripts

    def _count_other_words(self, text: str) -> int:
        """Count the function words of other languages, less those of English."""
        words = {*_WORD.findall(text[:_CHARACTERS].lower())}
        return len(words & self.other_words) - len(words & self.words)


def _divide_function_words(languages: set[str]) -> tuple[set[str], set[str]]:
    """Return the function words of English, and the words that only other languages have, for encoders of English.

    For other languages in Latin script there are none: their lists are too short to tell, say, Danish from Swedish.
    """
    if languages - {*_SCRIPTS_OF} != {"en"}:
        return set(), set()
    own = {*_FUNCTION_WORDS["en"].split()}
    return own, set(" ".join(_FUNCTION_WORDS.values()).split()) - own


def read_card_languages(folder: Path) -> list[str]:
    """Read the languages at the top of the card of a folder, as codes of two or three letters."""
    path = folder / "README.md"
    if not path.is_file():
        return []
    head = re.match(r"---\n(.*?)\n---", path.read_text(encoding="utf-8", errors="replace"), re.DOTALL)
    entry = re.search(r"^language:[ \t]*(.*(?:\n[ \t]*-[ \t].*)*)", head[1] if head else "", re.MULTILINE)
    codes = re.findall(r"[A-Za-z]{2,}(?:-[A-Za-z]+)*", entry[1] if entry else "")
    return [code.partition("-")[0].lower() for code in codes]

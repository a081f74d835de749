"""Language codes, and which sentences are not in the language they should be in.

Codes are BCP 47 tags whose subtags are in the IANA registry, which holds all of ISO 639-1, -2, -3 and -5. py3langid,
whose model is in its wheel, identifies sentences: langid.py (Lui and Baldwin 2012) is naive Bayes over byte
n-grams for 97 languages.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

import langcodes
import numpy as np

from ..errors import InputError, UsageError

if TYPE_CHECKING:
    import pyarrow as pa

_TAG = re.compile(r"[a-z]{2,3}(?:[-_][A-Za-z0-9]{1,8})*")
# The identifier distinguishes these, by labels of its own choice, where the language codes of corpora often do not.
_ALIKE = (frozenset({"no", "nb", "nn"}), frozenset({"hr", "sr", "bs", "sh"}))
_CERTAIN = 0.7
"""The probability from which on another language counts as found: a single sentence is little evidence."""


def check_language(code: str, flag: str) -> str:
    """Returns `code` if it is a language code, e.g. `fr`, `fin` or `pt-BR`."""
    if not _TAG.fullmatch(code) or not langcodes.tag_is_valid(code):
        raise InputError(
            f"{flag}: `{code}` is not a language code", remedy="give an ISO 639 code such as fr, en, cs or fin"
        )
    return code


@lru_cache(maxsize=4096)
def language_tag(code: str) -> str | None:
    """Returns a tag in its one standard form: `fr-FR` for `FR_fr`, `fr` for `fra`; None if it is not a tag.

    What gettext adds to a language, as in `sr@latin` or `fr_FR.UTF-8`, is left out.
    """
    code = re.split(r"[.@]", code.strip())[0]
    try:
        return langcodes.standardize_tag(code) if langcodes.tag_is_valid(code) else None
    except ValueError:
        return None


@lru_cache(maxsize=4096)
def is_language(tag: str, code: str) -> bool:
    """Returns whether text marked `tag` is in the language `code`.

    A region or script that `code` does not name may be there (`fr-CA` is `fr`); one that it names must be (`fr` is
    not `fr-CA`).
    """
    stated, wanted = language_tag(tag), language_tag(code)
    if stated is None or wanted is None:
        return False
    language, *subtags = stated.lower().split("-")
    wanted_language, *wanted_subtags = wanted.lower().split("-")
    return language == wanted_language and set(wanted_subtags) <= set(subtags)


def primary_language(code: str) -> str:
    """Returns the language of a tag alone, in its shortest code: `pt` for `pt-BR`, `fr` for `fra`."""
    return (language_tag(code) or code).split("-")[0].lower()


class OtherLanguages:
    """Finds rows of which a side is in another language than the one stated."""

    def __init__(self, source_lang: str, target_lang: str) -> None:
        self._identifier = _identifier()
        self._accepted = [self._labels(code) for code in (source_lang, target_lang)]

    def right(self, source: pa.Array, target: pa.Array) -> np.ndarray:
        """Returns in which rows neither side is in another language: (rows,), bool."""
        right = np.ones(len(source), dtype=bool)
        for texts, accepted in zip((source, target), self._accepted, strict=True):
            for row in np.flatnonzero(right):
                label, probability = self._identifier.classify(texts[int(row)].as_py())
                right[row] = label in accepted or probability < _CERTAIN
        return right

    def _labels(self, code: str) -> frozenset[str]:
        language = primary_language(code)
        accepted = next((group for group in _ALIKE if language in group), frozenset({language}))
        labels = set(self._identifier.labels)
        if not accepted & labels:
            raise UsageError(
                f"py3langid does not know the language `{code}`",
                remedy=f"leave --identify-languages out; it knows {' '.join(sorted(labels))}",
            )
        return accepted


def _identifier() -> Any:
    try:
        from py3langid.langid import MODEL_FILE, LanguageIdentifier
    except ImportError as error:
        raise UsageError(
            "--identify-languages needs the package py3langid", remedy="pip install 'hf-paraphrase[language]'"
        ) from error
    return _loaded(LanguageIdentifier, MODEL_FILE)


@cache
def _loaded(identifier: Any, file: str) -> Any:
    """Reads the model, which takes a while."""
    return identifier.from_model_file(file, norm_probs=True)

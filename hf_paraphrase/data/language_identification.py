"""Finds sentences that are not in the language they should be in, with py3langid, whose model is in its wheel.

langid.py (Lui and Baldwin, 2012, "langid.py: An Off-the-shelf Language Identification Tool", ACL) is a naive Bayes
classifier over byte n-grams for 97 languages. A single sentence is little evidence, so a row is only left out where
another language is found with high probability.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

from ..errors import UsageError
from .languages import primary_language

# The identifier distinguishes these, by labels of its own choice, where the language codes of corpora often do not.
_ALIKE = (frozenset({"no", "nb", "nn"}), frozenset({"hr", "sr", "bs", "sh"}))


class OtherLanguages:
    """Finds rows of which a side is in another language than the one stated.

    Args:
        source_lang: The language code of the source side.
        target_lang: The language code of the target side.
        certainty: The least probability with which another language must be found, above 0.5 and at most 1.
    """

    def __init__(self, source_lang: str, target_lang: str, certainty: float) -> None:
        if not 0.5 <= certainty <= 1:
            raise UsageError(f"--language-certainty {certainty} is not between 0.5 and 1", remedy="e.g. 0.9")
        self.certainty = certainty
        self._identifier: Any = _load()
        self._accepted = [self._labels(code) for code in (source_lang, target_lang)]

    def right(self, source: pa.Array, target: pa.Array) -> np.ndarray:
        """Returns in which rows neither side is in another language: (rows,), bool."""
        right = np.ones(len(source), dtype=bool)
        for texts, accepted in zip((source, target), self._accepted, strict=True):
            wanted = np.flatnonzero(right)
            right[wanted] = self._in_language(texts.take(pa.array(wanted)).to_pylist(), accepted)
        return right

    def _in_language(self, texts: Sequence[str], accepted: frozenset[str]) -> list[bool]:
        classify = self._identifier.classify
        detected = map(classify, texts)
        return [label in accepted or probability < self.certainty for label, probability in detected]

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


def _load() -> Any:
    try:
        from py3langid.langid import MODEL_FILE, LanguageIdentifier
    except ImportError as error:
        raise UsageError(
            "--identify-languages needs the package py3langid", remedy="pip install 'hf-paraphrase[language]'"
        ) from error
    return _loaded(LanguageIdentifier, MODEL_FILE)


@cache
def _loaded(identifier: Any, file: str) -> Any:
    """The model, which is checked before it is used, and takes a while to read."""
    return identifier.from_model_file(file, norm_probs=True)

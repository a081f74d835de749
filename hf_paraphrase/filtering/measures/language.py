"""The languages of the translation and of its source."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import UsageError
from ...settings import setting
from ..pair_batch import PairBatch
from .base import Measure


@dataclass(frozen=True)
class LanguageIdentification(Measure):
    """Identifies the language of the translation with the library py3langid, whose model comes with it.

    * `language`: the ISO 639 code of the most probable language of `sentence2`; `und` for a text without a letter.
    * `language_probability`: the probability of the language that it should be in, from 0 to 1; NaN for a text
      without a letter.

    Short sentences are often mistaken for ones of related languages.
    """

    unit = "0 to 1"
    texts = ("language",)
    for_bitext = True
    by_default = False
    columns = ("language", "language_probability")
    language: str | None = setting(
        "the language that sentence2 should be in, ISO 639; adds the measure language, for which it is en otherwise",
        None,
        names=["--language", "--lang"],
    )

    def compute(self, batch: PairBatch) -> dict[str, np.ndarray]:
        """Computes the two columns (pairs,): text, float64."""
        return dict(zip(self.columns, _identified(batch.lowered2, self.language or "en", "--language"), strict=True))


@dataclass(frozen=True)
class SourceLanguageIdentification(Measure):
    """Identifies the language of the source, as `language` does that of the translation.

    * `language_source`, `language_probability_source`: as `language` and `language_probability`, of `source`.
    """

    unit = "0 to 1"
    texts = ("language_source",)
    for_bitext = True
    by_default = False
    needs = "source_language"
    requires = ("source",)
    columns = ("language_source", "language_probability_source")
    source_language: str | None = setting(
        "the language that source should be in, ISO 639; adds the measure language_source", None
    )

    def compute(self, batch: PairBatch) -> dict[str, np.ndarray]:
        """Computes the two columns (pairs,): text, float64."""
        sources = list(map(str.lower, batch.texts("source")))
        identified = _identified(sources, str(self.source_language), "--source-language")
        return dict(zip(self.columns, identified, strict=True))


@functools.cache
def _model() -> Any:
    try:
        from py3langid.langid import MODEL_FILE, LanguageIdentifier
    except ImportError as error:
        raise UsageError(
            "language identification needs the package py3langid", remedy="pip install 'hf-paraphrase[language]'"
        ) from error
    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


def _identified(texts: Sequence[str], expected: str, option: str) -> tuple[np.ndarray, np.ndarray]:
    """Returns the language of lower-cased texts and the probability of the expected one: (texts,) both."""
    model = _model()
    if expected not in model.labels:
        problem = f"{option}: `{expected}` is not a language that py3langid knows"
        raise UsageError(problem, remedy=f"one of {', '.join(sorted(model.labels))}")
    rankings = [model.rank(text) if any(map(str.isalpha, text)) else [("und", np.nan)] for text in texts]
    codes = np.array([ranking[0][0] for ranking in rankings], dtype=np.str_)
    return codes, np.array([dict(ranking).get(expected, np.nan) for ranking in rankings], dtype=np.float64)

"""The language of the translation."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
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
    by_default = False
    columns = ("language", "language_probability")
    language: str | None = setting(
        "the language that sentence2 should be in, ISO 639; adds the measure language, for which it is en otherwise",
        None,
        names=["--language", "--lang"],
    )

    @property
    def expected(self) -> str:
        """The code of the language that the translation should be in."""
        return self.language or "en"

    def compute(self, batch: PairBatch) -> dict[str, np.ndarray]:
        """Computes the two columns (pairs,): text, float64."""
        codes, probabilities = [], []
        for text in batch.lowered2:
            ranking: list[tuple[str, float]] = []
            if any(map(str.isalpha, text)):
                ranking = self._identifier.rank(text)
            codes.append(ranking[0][0] if ranking else "und")
            probabilities.append(dict(ranking).get(self.expected, np.nan))
        if not batch.num_rows:
            # Says at once if the library or the language is missing.
            _ = self._identifier
        return {
            "language": np.array(codes, dtype=np.str_),
            "language_probability": np.array(probabilities, dtype=np.float64),
        }

    @cached_property
    def _identifier(self) -> Any:
        try:
            from py3langid.langid import MODEL_FILE, LanguageIdentifier
        except ImportError as error:
            raise UsageError(
                "the measure language needs the package py3langid", remedy="pip install 'hf-paraphrase[language]'"
            ) from error
        identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
        if self.expected not in identifier.labels:
            raise UsageError(
                f"--language: `{self.expected}` is not a language that py3langid knows",
                remedy=f"one of {', '.join(sorted(identifier.labels))}",
            )
        return identifier

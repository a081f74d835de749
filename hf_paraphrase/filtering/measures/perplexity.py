"""How likely the translation is as a sentence of its language (Wieting, Mallinson and Gimpel 2017, section 5.6)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...settings import setting
from ..ngram_model import KenlmModel, NgramModel, load_language_model
from ..pair_batch import PairBatch
from ..tokens import tokenize
from .base import Measure


@dataclass(frozen=True)
class Perplexity(Measure):
    """Computes the perplexity of the translation under a language model, and the share of words it does not know.

    * `perplexity`: 10^(−log10 p / (tokens + 1)) of the lower-cased tokens of `sentence2` and the end of the sentence,
      unknown words included with the probability of `<unk>`; NaN for an empty `sentence2`.
    * `unknown_rate`: the share of its tokens that the language model does not know; NaN for an empty `sentence2`.
    The language model is best one of sentences that are not among the pairs.
    """

    needs = "language_model"
    files = ("language_model",)
    columns = ("perplexity", "unknown_rate")
    language_model: str | None = setting("ARPA file of lower-cased tokens (`do n't`), for perplexity", None, path=True)

    def compute(self, batch: PairBatch) -> dict[str, np.ndarray]:
        """Computes the two columns (pairs,), float64."""
        model = self._model
        perplexity, unknown = np.full((2, batch.num_rows), np.nan)
        for row, words in enumerate(map(tokenize, batch.texts("sentence2"))):
            if words:
                perplexity[row] = 10 ** (-model.log10_probability(words) / (len(words) + 1))
                unknown[row] = sum(word not in model for word in words) / len(words)
        return {"perplexity": perplexity, "unknown_rate": unknown}

    @cached_property
    def _model(self) -> KenlmModel | NgramModel:
        return load_language_model(str(self.language_model))

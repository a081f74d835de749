"""How likely the translation is as a sentence of its language (Wieting, Mallinson and Gimpel 2017, section 5.6)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from ...errors import InputError
from ...messages import log
from ...settings import setting
from ..language_model.ngram_model import LanguageModel, load_language_model
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
        perplexity, unknown = np.full((2, batch.num_rows), np.nan)
        for row, words in enumerate(map(tokenize, batch.texts("sentence2"))):
            if words:
                perplexity[row] = 10 ** (-self._model.log10_probability(words) / (len(words) + 1))
                unknown[row] = sum(word not in self._model for word in words) / len(words)
        return {"perplexity": perplexity, "unknown_rate": unknown}

    def try_out(self, batch: PairBatch, path: Path) -> None:
        """Looks whether the language model knows the words of the pairs."""
        rates = self.compute(batch)["unknown_rate"]
        tokens = int(batch.lengths2.sum())
        unknown = float((rates * batch.lengths2)[batch.lengths2 > 0].sum())
        if tokens and unknown >= tokens:
            raise InputError(
                f"none of the words of the first {batch.num_rows:,} pairs is in the language model's vocabulary",
                path=path,
                remedy="give a model of lower-cased words of the language of sentence2",
            )
        if tokens and unknown > tokens / 2:
            log(f"the language model knows only {1 - unknown / tokens:.0%} of the words of the first pairs")

    @cached_property
    def _model(self) -> LanguageModel:
        return load_language_model(str(self.language_model))

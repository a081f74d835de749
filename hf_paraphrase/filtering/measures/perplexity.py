"""How likely the translation is as a sentence of its language (Wieting, Mallinson and Gimpel 2017, section 5.6)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from ..language_model.ngram_model import NgramModel
from ..pair_batch import PairBatch


@dataclass(frozen=True)
class Perplexity:
    """Computes the perplexity of the translation under a language model, and the share of words it does not know.

    * `perplexity`: 10^(−log10 p / (tokens + 1)) of the lower-cased tokens of `sentence2` and the end of the sentence,
      unknown words included with the probability of `<unk>`; NaN for an empty `sentence2`.
    * `unknown_rate`: the share of its tokens that the language model does not know; NaN for an empty `sentence2`.

    Attributes:
        language_model: The ARPA file of a model of lower-cased tokens, best one of sentences that are not among the
            pairs.
    """

    setting: ClassVar[str] = "language_model"
    language_model: str | None = None
    columns: tuple[str, ...] = ("perplexity", "unknown_rate")
    requires: tuple[str, ...] = ("sentence1", "sentence2")

    def compute(self, batch: PairBatch) -> dict[str, np.ndarray]:
        """Computes the two columns (pairs,), float64."""
        scores = self._model.score(batch.spans, batch.num_rows)
        filled = scores.tokens > 0
        unknown = np.full(batch.num_rows, np.nan)
        np.divide(scores.unknown, scores.tokens, out=unknown, where=filled)
        return {"perplexity": np.where(filled, scores.perplexities(), np.nan), "unknown_rate": unknown}

    @cached_property
    def _model(self) -> NgramModel:
        return NgramModel.from_file(str(self.language_model))

"""The translation model's own cost of the translation (Wieting, Mallinson and Gimpel 2017, section 5.6)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..pair_batch import PairBatch


@dataclass(frozen=True)
class TranslationCost:
    """Computes the negative log-likelihood of the translation, its end included, per token of the translation.

    `cost` = −`log_prob` / `num_tokens` in nats per token, for pairs that come from back-translation; NaN where
    `num_tokens` is 0 or a value is missing.
    """

    columns: tuple[str, ...] = ("cost",)
    requires: tuple[str, ...] = ("log_prob", "num_tokens")

    def compute(self, batch: PairBatch) -> dict[str, np.ndarray]:
        """Computes the column (pairs,), float64."""
        log_prob, tokens = batch.numbers("log_prob"), batch.numbers("num_tokens")
        cost = np.full(batch.num_rows, np.nan)
        np.divide(-log_prob, tokens, out=cost, where=tokens > 0)
        return {"cost": cost}

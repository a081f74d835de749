"""Smoothed sentence BLEU of the translation against the reference."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..pair_batch import PairBatch
from .base import Measure

_MAXIMUM_ORDER = 4


@dataclass(frozen=True)
class SentenceBleu(Measure):
    """Computes BLEU with add-one smoothing throughout (Nakov, Guzmán and Vogel 2012; used in Wieting et al. 2017).

    The hypothesis is `sentence2`, the reference `sentence1`, both as lower-cased tokens, c and r their lengths:

        BLEU = exp(min(0, 1 − (r + 1) / c)) · (Π_{n=1..4} (m_n + 1) / (t_n + 1))^{1/4}

    with m_n the clipped matches and t_n the number of hypothesis n-grams. One is added for all n, unigrams included,
    and to the reference length in the brevity penalty. 0 for an empty hypothesis. The column `bleu` runs from 0 to 1;
    a perfect copy of c tokens has exp(−1/c), a little less than 1.
    """

    unit = "0 to 1"
    columns = ("bleu",)

    def compute(self, batch: PairBatch) -> dict[str, np.ndarray]:
        """Computes the column (pairs,), float64."""
        reference, hypothesis = batch.lengths1, batch.lengths2
        logarithm = np.zeros(batch.num_rows)
        for order in range(1, _MAXIMUM_ORDER + 1):
            total = np.maximum(hypothesis - order + 1, 0)
            logarithm += np.log((batch.shared(order).clipped + 1) / (total + 1)) / _MAXIMUM_ORDER
        brevity = np.minimum(0.0, 1.0 - (reference + 1) / np.maximum(hypothesis, 1))
        return {"bleu": np.where(hypothesis > 0, np.exp(brevity + logarithm), 0.0)}

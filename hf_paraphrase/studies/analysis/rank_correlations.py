"""What the classifier relies on: Spearman correlations of its probability (paper 000, section 5.6.1, table 10)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from ...evaluation.correlation import spearman
from ...evaluation.verdicts import Interval, Verdict
from ...filtering.tokens import tokenize

PAPER = {
    "unigram repetition": -35.1,
    "trigram repetition": -18.4,
    "average IDF": 27.8,
    "length": -34.0,
}
"""Table 10 of the paper: Spearman's rho × 100."""


@dataclass(frozen=True)
class RankCorrelation:
    """The correlation of P(reference) with one property of the sentences.

    Attributes:
        measured: The property, a key of :data:`PAPER`.
        found: Spearman's rho × 100 with its 95 % interval.
    """

    measured: str
    found: Interval

    @property
    def verdict(self) -> Verdict:
        """Whether the sign is that of the paper."""
        return self.found.verdict("above" if PAPER[self.measured] > 0 else "below")


def document_frequencies(texts: Sequence[str]) -> dict[str, int]:
    """Counts for each lower-cased token in how many texts it occurs."""
    counts: dict[str, int] = {}
    for text in texts:
        for token in set(tokenize(text)):
            counts[token] = counts.get(token, 0) + 1
    return counts


def average_idf(texts: Sequence[str], frequencies: Mapping[str, int], documents: int) -> NDArray[np.float64]:
    """Computes the mean inverse document frequency of the tokens of each sentence.

    idf(t) = ln((N + 1) / (df(t) + 1)), N being the number of documents, df(t) the number of those with t.

    Args:
        texts: The sentences; one without tokens gets NaN.
        frequencies: df.
        documents: N.

    Returns:
        The means (sentences,).
    """
    values = {token: float(np.log((documents + 1) / (count + 1))) for token, count in frequencies.items()}
    unknown = float(np.log(documents + 1))
    means = np.full(len(texts), np.nan)
    for place, text in enumerate(texts):
        tokens = tokenize(text)
        if tokens:
            means[place] = sum(values.get(token, unknown) for token in tokens) / len(tokens)
    return means


def rank_correlations(
    probabilities: NDArray[np.float64], properties: Mapping[str, NDArray[np.float64]]
) -> list[RankCorrelation]:
    """Correlates P(reference) with properties of the same sentences.

    The interval is that of Fisher's transformation with the variance 1.06 / (n − 3) for ranks (Fieller, Hartley and
    Pearson 1957), of 95 % for all properties together (Bonferroni).

    Args:
        probabilities: P(reference) (sentences,).
        properties: For each property its values (sentences,); NaN leaves a sentence out.
    """
    correlations = []
    quantile = NormalDist().inv_cdf(1 - 0.025 / max(1, len(properties)))
    for name, values in properties.items():
        is_present = ~(np.isnan(values) | np.isnan(probabilities))
        size = int(is_present.sum())
        rho = spearman(probabilities[is_present], values[is_present])
        error = quantile * np.sqrt(1.06 / (size - 3)) if size > 3 else np.inf
        center = np.arctanh(np.clip(rho, -1 + 1e-12, 1 - 1e-12))
        low, high = (100.0 * float(np.tanh(center + sign * error)) for sign in (-1, 1))
        correlations.append(RankCorrelation(name, Interval(100.0 * rho, low, high)))
    return correlations

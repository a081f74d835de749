"""Entropy of n-grams, repetition and rarity of words, and their correlations (Wieting et al. 2017, section 5.6.1)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...text.ngrams import TokenSpans, number_ngrams
from ...text.words import tokenize
from ...training.verdicts import Difference, Interval
from ...vectors.similarity import spearman

ORDERS = (1, 3)
REPLICATES = 200
"""Bootstrap replicates of the intervals."""
PAPER = {
    "unigram repetition": -35.1,
    "trigram repetition": -18.4,
    "average IDF": 27.8,
    "length": -34.0,
}
"""Table 10 of the paper: Spearman's rho × 100 of P(reference) with these."""


@dataclass(frozen=True)
class NgramOccurrences:
    """All n-grams of one order in a list of sentences.

    For each occurrence there are the numbers of its n-gram and of its sentence (occurrences,); for each sentence, the
    count of n-grams `considered` for repetition, and of those `repeated`, which occurred before in it (sentences,).
    """

    numbers: NDArray[np.int64]
    sentences: NDArray[np.int64]
    considered: NDArray[np.int64]
    repeated: NDArray[np.int64]

    @property
    def repetition(self) -> NDArray[np.float64]:
        """The fraction of repetitions in each sentence (sentences,); 0 where nothing counts."""
        return np.asarray(self.repeated / np.maximum(self.considered, 1), np.float64)

    def entropy(self, weights: NDArray[np.float64] | None = None) -> float:
        """Compute the entropy of the n-grams in bits; each sentence counts by its weight (sentences,), or once."""
        counts = np.bincount(self.numbers, weights=None if weights is None else weights[self.sentences])
        counts = counts[counts > 0]
        total = counts.sum()
        return float(np.log2(total) - (counts * np.log2(counts)).sum() / total) if total else 0.0

    def repetition_rate(self, weights: NDArray[np.float64] | None = None) -> float:
        """Compute the percentage of repetitions among all counted occurrences."""
        considered = self.considered if weights is None else weights * self.considered
        repeated = self.repeated if weights is None else weights * self.repeated
        total = float(considered.sum())
        return 100.0 * float(repeated.sum()) / total if total else 0.0


def count_ngrams(texts: Sequence[str], order: int) -> NgramOccurrences:
    """Find the n-grams of lower-cased tokens of each sentence, punctuation included.

    Repetition counts unigrams of at least three characters, as in the paper, and all n-grams of higher order.
    """
    spans = TokenSpans([text.lower() for text in texts])
    numbers, starts = number_ngrams(spans, order)
    owner = np.repeat(np.arange(len(texts)), spans.counts)[starts]
    counting = spans.is_word[starts] if order == 1 else np.ones(len(starts), bool)
    kinds = int(numbers.max(initial=0)) + 1
    distinct = np.unique(owner[counting] * kinds + numbers[counting])
    considered = np.bincount(owner[counting], minlength=len(texts))
    different = np.bincount(distinct // kinds, minlength=len(texts))
    return NgramOccurrences(numbers, owner, considered, considered - different)


def contrast_ngrams(
    references: Sequence[NgramOccurrences],
    translations: Sequence[NgramOccurrences],
    *,
    replicates: int = REPLICATES,
    seed: int = 0,
) -> list[dict[str, Any]]:
    """Compare entropy and repetition of references and translations, of both :data:`ORDERS` (table 9).

    The 95 % interval, simultaneous for all contrasts, uses the standard deviation over bootstrap replicates of the
    pairs; percentiles would be biased, because a resample has fewer distinct n-grams than the sample. `expected` is
    the sign of the difference in the paper.
    """
    generator = np.random.default_rng(seed)
    size = len(references[0].considered)
    kinds = [("entropy", "bits", 1), ("repetition_rate", "%", -1)]
    draws: dict[tuple[str, int], list[float]] = {(name, index): [] for name, _, _ in kinds for index in range(2)}
    for _ in range(replicates):
        weights = generator.multinomial(size, np.full(size, 1 / size)).astype(np.float64)
        for name, index in draws:
            one, two = (getattr(side[index], name)(weights) for side in (references, translations))
            draws[name, index].append(one - two)
    contrasts = []
    for name, unit, expected in kinds:
        for index, order in enumerate(ORDERS):
            one, two = (getattr(side[index], name)() for side in (references, translations))
            difference = Difference(one - two, (), np.array(draws[name, index])).interval(comparisons=len(draws))
            contrasts.append(
                {
                    "name": f"{name.partition('_')[0]} of {'unigrams' if order == 1 else 'trigrams'}",
                    "unit": unit,
                    "reference": one,
                    "translation": two,
                    "difference": difference,
                    "expected": expected,
                    "verdict": difference.verdict("above" if expected > 0 else "below"),
                }
            )
    return contrasts


def document_frequencies(texts: Iterable[str]) -> Counter[str]:
    """Count for each lower-cased token the texts that contain it."""
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(set(tokenize(text)))
    return counts


def average_idf(texts: Sequence[str], frequencies: Mapping[str, int], documents: int) -> NDArray[np.float64]:
    """Compute the mean inverse document frequency of the tokens of each sentence (sentences,); NaN without tokens.

    idf(t) = ln((N + 1) / (df(t) + 1)), N being the number of documents, df(t) the number of documents with t.
    """
    means = np.full(len(texts), np.nan)
    for row, text in enumerate(texts):
        if tokens := tokenize(text):
            counts = np.array([frequencies.get(token, 0) for token in tokens])
            means[row] = np.log((documents + 1) / (counts + 1)).mean()
    return means


def rank_correlations(
    probabilities: NDArray[np.float64], properties: Mapping[str, NDArray[np.float64]]
) -> dict[str, Interval]:
    """Correlate P(reference) (sentences,) with properties of the same sentences; sentences with NaN are left out.

    Spearman's rho × 100. The interval uses Fisher's transformation with the variance 1.06 / (n − 3) for ranks
    (Fieller, Hartley and Pearson 1957), of 95 % for all properties together (Bonferroni).
    """
    correlations = {}
    quantile = NormalDist().inv_cdf(1 - 0.025 / max(1, len(properties)))
    for name, values in properties.items():
        is_present = ~(np.isnan(values) | np.isnan(probabilities))
        size = int(is_present.sum())
        rho = spearman(probabilities[is_present], values[is_present])
        error = quantile * np.sqrt(1.06 / (size - 3)) if size > 3 else np.inf
        center = np.arctanh(np.clip(rho, -1 + 1e-12, 1 - 1e-12))
        low, high = (100.0 * float(np.tanh(center + sign * error)) for sign in (-1, 1))
        correlations[name] = Interval(100.0 * rho, low, high)
    return correlations

"""Entropy of n-grams and repetition within sentences (paper 000, section 5.6.1, table 9)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...evaluation.verdicts import Difference, Interval, Verdict
from ...filtering.measures.wording import SHORTEST_WORD
from ...filtering.tokens import TokenSpans

ORDERS = (1, 3)


@dataclass(frozen=True)
class NgramOccurrences:
    """All n-grams of one order in a list of sentences.

    Attributes:
        numbers: For each occurrence the number of its n-gram, from 0 (occurrences,).
        sentences: For each occurrence its sentence (occurrences,).
        considered: For each sentence the occurrences that count for repetition (sentences,).
        repeated: How many of those occurred before in the same sentence (sentences,).
    """

    numbers: NDArray[np.int64]
    sentences: NDArray[np.int64]
    considered: NDArray[np.int64]
    repeated: NDArray[np.int64]

    @property
    def repetition(self) -> NDArray[np.float64]:
        """The share of repetitions in each sentence (sentences,); 0 where nothing counts."""
        shares = np.zeros(len(self.considered))
        np.divide(self.repeated, self.considered, out=shares, where=self.considered > 0)
        return shares

    def entropy(self, weights: NDArray[np.float64] | None = None) -> float:
        """Computes the entropy of the distribution of n-grams in bits: −Σ p log2 p, p = count / all.

        Args:
            weights: How often each sentence counts (sentences,); None for once each.
        """
        counts = np.bincount(self.numbers, weights=None if weights is None else weights[self.sentences])
        counts = counts[counts > 0]
        total = counts.sum()
        return float(np.log2(total) - (counts * np.log2(counts)).sum() / total) if total else 0.0

    def repetition_rate(self, weights: NDArray[np.float64] | None = None) -> float:
        """Computes the share of repetitions among all occurrences that count, in per cent."""
        considered = self.considered if weights is None else weights * self.considered
        repeated = self.repeated if weights is None else weights * self.repeated
        total = float(considered.sum())
        return 100.0 * float(repeated.sum()) / total if total else 0.0


def count_ngrams(texts: Sequence[str], order: int) -> NgramOccurrences:
    """Finds the n-grams of lower-cased tokens of each sentence, punctuation included.

    For repetition only unigrams of at least three characters count, as in the paper, and all n-grams of higher order.
    """
    spans = TokenSpans([text.lower() for text in texts])
    _, words = np.unique(spans.numbers, return_inverse=True)
    owner = np.repeat(np.arange(len(texts)), spans.counts)
    following = np.repeat(spans.first + spans.counts, spans.counts) - np.arange(len(owner))
    fits = np.flatnonzero(following >= order)
    numbers = np.zeros(len(fits), np.int64)
    size = int(words.max(initial=0)) + 1
    for place in range(order):
        # Renumbered after every word, so that products stay small.
        _, numbers = np.unique(numbers * size + words[fits + place], return_inverse=True)
    owner = owner[fits]
    counting = spans.sizes[fits] >= SHORTEST_WORD if order == 1 else np.ones(len(fits), bool)
    distinct = np.unique(owner[counting] * (int(numbers.max(initial=0)) + 1) + numbers[counting])
    considered = np.bincount(owner[counting], minlength=len(texts))
    different = np.bincount(distinct // (int(numbers.max(initial=0)) + 1), minlength=len(texts))
    return NgramOccurrences(numbers, owner, considered, considered - different)


@dataclass(frozen=True)
class Contrast:
    """One statistic of references and translations.

    Attributes:
        expected: The sign of the difference in the paper, 1 or −1.
    """

    name: str
    unit: str
    reference: float
    translation: float
    difference: Interval
    expected: int

    @property
    def verdict(self) -> Verdict:
        """Whether the paper's finding holds here."""
        return self.difference.verdict("above" if self.expected > 0 else "below")


def contrast_ngrams(
    references: Sequence[NgramOccurrences],
    translations: Sequence[NgramOccurrences],
    *,
    replicates: int = 200,
    seed: int = 0,
) -> list[Contrast]:
    """Compares entropy and repetition of references and translations (table 9).

    The interval is from the standard deviation over bootstrap replicates of the pairs, of 95 % for all contrasts
    together. Percentiles would not do: a resample has fewer distinct n-grams than the sample, and so a lower entropy.
    """
    generator = np.random.default_rng(seed)
    size = len(references[0].considered)
    kinds = [("entropy", "bits", 1), ("repetition_rate", "%", -1)]
    draws: dict[tuple[str, int], list[float]] = {(name, place): [] for name, _, _ in kinds for place in range(2)}
    for _ in range(replicates):
        weights = generator.multinomial(size, np.full(size, 1 / size)).astype(np.float64)
        for name, place in draws:
            one, two = (getattr(side[place], name)(weights) for side in (references, translations))
            draws[name, place].append(one - two)
    contrasts = []
    for name, unit, expected in kinds:
        for place, order in enumerate(ORDERS):
            one, two = (getattr(side[place], name)() for side in (references, translations))
            label = f"{'entropy' if name == 'entropy' else 'repetition'} of {'unigrams' if order == 1 else 'trigrams'}"
            difference = Difference(one - two, (), np.array(draws[name, place])).interval(comparisons=len(draws))
            contrasts.append(Contrast(label, unit, one, two, difference, expected))
    return contrasts

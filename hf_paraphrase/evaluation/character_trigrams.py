"""The floors that a learned encoder has to beat: cosines of character trigram counts, plain and frequency-weighted.

The weight a / (a + p), with p the trigram's relative frequency in English, is that of smooth inverse frequency (Arora,
Liang and Ma 2017, "A simple but tough-to-beat baseline for sentence embeddings", section 3), applied to trigrams.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

import numpy as np

from .english_trigrams import english_trigram_frequencies
from .sparse_counts import bag_cosines
from .word_counts import floor_tokens

SMOOTHING = 3e-3
"""The a of the weight a / (a + p), chosen on STS 2016."""


def character_trigrams(text: str) -> list[str]:
    """Lists all windows of three characters of ` token token … `: lower-cased tokens with single spaces round them."""
    padded = f" {' '.join(floor_tokens(text))} "
    return [padded[start : start + 3] for start in range(len(padded) - 2)]


def trigram_frequencies(texts: Iterable[str]) -> dict[str, float]:
    """Computes the relative frequency of each trigram within the words of `texts`, one space round each word."""
    counts = Counter(trigram for text in texts for word in floor_tokens(text) for trigram in character_trigrams(word))
    total = counts.total()
    return {trigram: count / total for trigram, count in counts.items()}


def trigram_similarity(sentences1: list[str], sentences2: list[str]) -> np.ndarray:
    """Computes the cosine of the two sentences' character trigram count vectors.

    Args:
        sentences1: n sentences.
        sentences2: n sentences.

    Returns:
        Similarities (n,) from 0 to 1; 0 where a sentence is empty.
    """
    return bag_cosines([character_trigrams(s) for s in sentences1], [character_trigrams(s) for s in sentences2])


def weighted_trigram_similarity(
    sentences1: list[str],
    sentences2: list[str],
    frequencies: Mapping[str, float] | None = None,
    smoothing: float = SMOOTHING,
) -> np.ndarray:
    """Computes the cosine of trigram counts weighted by a / (a + p), so that frequent trigrams count little.

    Args:
        sentences1: n sentences.
        sentences2: n sentences.
        frequencies: p, the relative frequency of each trigram; 0 for one that is not in it, such as those that
            span a space between words or hold punctuation. By default those of :mod:`.english_trigrams`.
        smoothing: a, a relative frequency.

    Returns:
        Similarities (n,) from 0 to 1; 0 where a sentence is empty.
    """
    known = english_trigram_frequencies() if frequencies is None else frequencies
    weights = {trigram: smoothing / (smoothing + frequency) for trigram, frequency in known.items()}
    return bag_cosines(
        [character_trigrams(s) for s in sentences1], [character_trigrams(s) for s in sentences2], weights
    )

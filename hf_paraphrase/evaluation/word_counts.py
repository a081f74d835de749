"""The simplest floor: the cosine of word counts, no training and no data."""

from __future__ import annotations

import re

import numpy as np

from .sparse_counts import bag_cosines

_TOKEN = re.compile(r"\w+|[^\w\s]")


def floor_tokens(text: str) -> list[str]:
    """Splits a lower-cased text into runs of letters and digits and single punctuation marks."""
    return _TOKEN.findall(text.lower())


def word_count_similarity(sentences1: list[str], sentences2: list[str]) -> np.ndarray:
    """Computes the cosine of the two sentences' word count vectors.

    Args:
        sentences1: n sentences.
        sentences2: n sentences.

    Returns:
        Similarities (n,) from 0 to 1; 0 where a sentence is empty.
    """
    return bag_cosines([floor_tokens(text) for text in sentences1], [floor_tokens(text) for text in sentences2])

"""Random vectors of character trigrams, weighted by how rare they are: exact words beside the meaning of others.

The mean of such vectors is the baseline `weighted-trigrams` of :mod:`..evaluation.baselines` in a space of few
components: its cosines are those of the weighted counts of trigrams up to an error of about 1/√components (Johnson and
Lindenstrauss 1984). Here the trigrams are those of the tokenizer of :mod:`..tokenization.character_trigram`, which
leaves punctuation at its word.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..tokenization.character_trigram import build_character_trigram_tokenizer, trigram_counts

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

BASELINE = "weighted-trigrams"
"""The name of the baseline."""


def random_trigrams(
    sentences: Iterable[str],
    *,
    dimension: int,
    max_size: int | None,
    constant: float | None = None,
    seed: int = 0,
) -> tuple[PreTrainedTokenizerFast, NDArray[np.float32]]:
    """Makes a tokenizer over the trigrams of a text and a random vector for each of them, by its ids.

    The vector of a trigram is normal with a variance of 1/dimension, times a / (a + p). The frequencies p and the
    constant a are those of the baseline, in which trigrams over the space between two words count fully; or, with a
    `constant` a, p is the trigram's share of those of the text, these included. Its direction depends on nothing but
    it and the seed; with 0 they are those of the baseline. The `max_size` most frequent ones are kept, others left
    out.
    """
    from ..evaluation.baselines import random_vector, trigram_weights

    counts = trigram_counts(sentences, max_size=max_size)
    tokenizer = build_character_trigram_tokenizer(counts, skip_unknown=True)
    weights = trigram_weights() if constant is None else _weights(counts, constant)
    ids = tokenizer.get_vocab()
    table = np.zeros((len(ids), dimension), np.float32)
    for trigram in counts:
        table[ids[trigram]] = weights.get(trigram, 1.0) / dimension**0.5 * random_vector(trigram, dimension, seed)
    return tokenizer, table


def _weights(counts: dict[str, int], constant: float) -> dict[str, float]:
    total = max(1, sum(counts.values()))
    return {trigram: constant / (constant + count / total) for trigram, count in counts.items()}

"""The floors as vectors: random projections of the count vectors whose cosines the floors are.

Where a classifier is trained on sentence vectors, a similarity will not do. A count vector has a dimension for every
word or trigram; multiplied with a random matrix it keeps its lengths and angles up to an error of about 1/√dim
(Johnson and Lindenstrauss 1984). What comes out is the sum of random word vectors, the floor that Wieting and Kiela
2019, "No Training Required", measure trained encoders against.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
import xxhash

from .character_trigrams import SMOOTHING, character_trigrams
from .english_trigrams import english_trigram_frequencies
from .graded_set import Encode
from .sparse_counts import count_matrix
from .word_counts import floor_tokens

DIMENSION = 300
"""Of the vectors; that of the papers' encoders."""


def projected_counts(
    texts: Sequence[str],
    items_of: Callable[[str], list[str]],
    weights: Callable[[], Mapping[str, float]] = dict,
    dimension: int = DIMENSION,
) -> np.ndarray:
    """Computes the mean, over the items of each text, of a random vector for each item.

    The vector of an item depends on nothing but the item: no other text, no state and no machine changes a result.

    Args:
        texts: n texts.
        items_of: Lists the items of a text, e.g. its words.
        weights: Gives the factor for each item's vector; 1 for an item that is not in it.
        dimension: Of the vectors.

    Returns:
        float32 (n, dimension); zeros for a text without items.
    """
    vocabulary: dict[str, int] = {}
    counts = count_matrix([items_of(text) for text in texts], vocabulary)
    factors = weights()
    vectors = np.zeros((max(1, len(vocabulary)), dimension))
    for item, row in vocabulary.items():
        generator = np.random.Generator(np.random.PCG64(xxhash.xxh64_intdigest(item.encode())))
        vectors[row] = factors.get(item, 1.0) * generator.standard_normal(dimension)
    lengths = np.maximum(1.0, np.asarray(counts.sum(axis=1)))
    return np.asarray(counts @ vectors / lengths, dtype=np.float32)


def _trigram_weights() -> dict[str, float]:
    return {trigram: SMOOTHING / (SMOOTHING + p) for trigram, p in english_trigram_frequencies().items()}


FLOOR_ENCODERS: dict[str, Encode] = {
    "words": partial(projected_counts, items_of=floor_tokens),
    "trigrams": partial(projected_counts, items_of=character_trigrams),
    "weighted-trigrams": partial(projected_counts, items_of=character_trigrams, weights=_trigram_weights),
}
"""By the names of :data:`.floors.FLOORS`."""

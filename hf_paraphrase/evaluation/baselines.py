"""Scorers for evaluations: encoders, and untrained baselines that an encoder should beat.

The baselines are cosines of counts of words, of character trigrams, and of trigrams weighted by a / (a + p), with p
the trigram's relative frequency in English: the weight of smooth inverse frequency (Arora, Liang and Ma 2017, section
3), applied to trigrams. Where vectors are needed, the counts are multiplied with a random matrix: the mean of random
word vectors (Wieting and Kiela 2019, "No Training Required").
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..encoders.dev_sets.pair_sets import Encode, Similarity
from ..encoders.join import draw_random_vector
from ..text.words import split_words

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

SMOOTHING = 3e-3
"""The a of the weight a / (a + p), chosen on STS 2016."""
DIMENSION = 300
"""Dimension of the vectors, as in the papers."""


@dataclass(frozen=True)
class Scorer:
    """A model (`kind` is `model`), the first components of one (`truncated`), or a baseline (`baseline`).

    `similarity` maps n pairs to n similarities; None means the cosine of the vectors. `queries` and `documents` embed
    the texts of retrieval; None means `encode`.
    """

    name: str
    kind: str
    encode: Encode
    similarity: Similarity | None = None
    queries: Encode | None = None
    documents: Encode | None = None


def build_count_matrix(bags: Sequence[Sequence[str]], vocabulary: dict[str, int]) -> csr_matrix:
    """Count the items of each bag: float64 (n, items); new items are added to the vocabulary."""
    from scipy.sparse import csr_matrix

    columns = [vocabulary.setdefault(word, len(vocabulary)) for bag in bags for word in bag]
    starts = np.concatenate([[0], np.cumsum([len(bag) for bag in bags], dtype=np.int64)])
    matrix = csr_matrix((np.ones(len(columns)), columns, starts), shape=(len(bags), max(1, len(vocabulary))))
    matrix.sum_duplicates()
    return matrix


def name_truncated(name: str, components: int) -> str:
    """Name an encoder that is truncated to its first components."""
    return f"{name}, {components} components"


def list_trigrams(text: str) -> list[str]:
    """List all windows of three characters of ` token token … `: lower-cased tokens with single spaces around them."""
    padded = f" {' '.join(split_words(text))} "
    return [padded[start : start + 3] for start in range(len(padded) - 2)]


def read_trigram_frequencies() -> dict[str, float]:
    """Return the relative frequency of frequent trigrams of words in 2,000 sentences of the English Wikipedia."""
    entries = Path(__file__).with_name("english_trigrams.txt").read_text(encoding="ascii").split()
    return {entry[:3].replace("_", " "): int(entry[3:]) / 100_000 for entry in entries}


def compute_trigram_weights() -> dict[str, float]:
    """Return the weights of trigrams that are frequent in English; all other trigrams have weight 1."""
    return {trigram: SMOOTHING / (SMOOTHING + p) for trigram, p in read_trigram_frequencies().items()}


def compute_bag_cosines(
    sentences1: Sequence[str],
    sentences2: Sequence[str],
    items_of: Callable[[str], list[str]],
    weights: Callable[[], Mapping[str, float]] = dict,
) -> np.ndarray:
    """Compute the cosine of the weighted counts of the two sentences' words or trigrams.

    Returns:
        Similarities (n,), float64, from 0 to 1; 0 where a sentence is empty.
    """
    vocabulary: dict[str, int] = {}
    first, second = (
        build_count_matrix([items_of(text) for text in sentences], vocabulary)
        for sentences in (sentences1, sentences2)
    )
    first.resize(second.shape)
    own_weights = weights()
    factors = np.array([own_weights.get(word, 1.0) for word in vocabulary] or [1.0])
    for matrix in (first, second):
        matrix.data *= factors[matrix.indices]
    products = np.asarray(first.multiply(second).sum(axis=1)).ravel()
    squares = [np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel() for matrix in (first, second)]
    norms = np.sqrt(squares[0] * squares[1])
    return np.divide(products, norms, out=np.zeros_like(products), where=norms > 0)


def project_counts(
    texts: Sequence[str],
    items_of: Callable[[str], list[str]],
    weights: Callable[[], Mapping[str, float]] = dict,
) -> np.ndarray:
    """Compute the mean of the weighted random vectors of a text's items, float32 (n, :data:`DIMENSION`)."""
    vocabulary: dict[str, int] = {}
    counts = build_count_matrix([items_of(text) for text in texts], vocabulary)
    own_weights = weights()
    vectors = np.zeros((max(1, len(vocabulary)), DIMENSION))
    for word, row in vocabulary.items():
        vectors[row] = own_weights.get(word, 1.0) * draw_random_vector(word, DIMENSION)
    lengths = np.maximum(1.0, np.asarray(counts.sum(axis=1)))
    return np.asarray(counts @ vectors / lengths, dtype=np.float32)


_COUNTED: dict[str, dict[str, Any]] = {
    "words": {"items_of": split_words},
    "trigrams": {"items_of": list_trigrams},
    "weighted-trigrams": {"items_of": list_trigrams, "weights": compute_trigram_weights},
}
UNTRAINED_BASELINES: dict[str, Scorer] = {
    name: Scorer(name, "baseline", partial(project_counts, **how), partial(compute_bag_cosines, **how))
    for name, how in _COUNTED.items()
}
"""The untrained baselines by the names that `evaluate --baseline` takes."""


def open_scorers(
    folder: str, *, device: str, batch_size: int, sizes: Iterable[int] = (), name: str | None = None
) -> list[Scorer]:
    """Open an encoder of any library; return it and its truncation to each of `sizes` as scorers."""
    from ..encoders.sentence_encoder import SentenceEncoder

    name = folder if name is None else name
    whole = SentenceEncoder.from_pretrained(folder, device=device)
    opened = [(name, "model", whole)]
    opened += [(name_truncated(name, size), "truncated", whole.truncated(size)) for size in sizes]
    options: dict[str, Any] = {"batch_size": batch_size, "show_progress_bar": True}
    return [
        Scorer(
            title,
            kind,
            partial(encoder.encode, **options),
            queries=partial(encoder.encode_query, **options),
            documents=partial(encoder.encode_document, **options),
        )
        for title, kind, encoder in opened
    ]

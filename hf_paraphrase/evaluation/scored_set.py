"""A graded set with the similarities that a scorer gives its pairs: what every protocol starts from.

The sentences are encoded, or compared, once; the protocols differ only in what they do with the numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ..errors import InputError, ModelError
from .correlation import cosine_similarities
from .graded_set import Encode, GradedSet, Similarity


@dataclass(frozen=True, eq=False)
class ScoredSet:
    """The similarities of one scorer on one set.

    Attributes:
        graded: The set.
        similarities: One similarity a pair, float64 (n,), all finite.
    """

    graded: GradedSet
    similarities: np.ndarray = field(repr=False)

    @property
    def key(self) -> str:
        """The set's key, e.g. `STS12 MSRpar`."""
        return self.graded.key

    def __len__(self) -> int:
        return len(self.graded)


def score_with_encoder(encode: Encode, sets: Sequence[GradedSet]) -> tuple[ScoredSet, ...]:
    """Computes the cosines of the embeddings of every pair; each distinct sentence of all sets is encoded once.

    Args:
        encode: Maps n sentences to an array (n, dim).
        sets: The graded sets.

    Returns:
        One scored set a graded set, in order. A zero vector has similarity 0 with everything.

    Raises:
        InputError: If there are no sets, or one of them is empty.
        ModelError: If the encoder gives an array of the wrong shape, or NaN.
    """
    _check(sets)
    position: dict[str, int] = {}
    for graded in sets:
        for sentence in (*graded.sentences1, *graded.sentences2):
            position.setdefault(sentence, len(position))
    vectors = np.asarray(encode(list(position)))
    if vectors.ndim != 2 or len(vectors) != len(position):
        raise ModelError(f"the encoder gave an array of shape {vectors.shape} for {len(position)} sentences")

    def similarity(sentences1: list[str], sentences2: list[str]) -> np.ndarray:
        return cosine_similarities(
            vectors[[position[sentence] for sentence in sentences1]],
            vectors[[position[sentence] for sentence in sentences2]],
        )

    return score_with_similarity(similarity, sets)


def score_with_similarity(similarity: Similarity, sets: Sequence[GradedSet]) -> tuple[ScoredSet, ...]:
    """Computes the similarity of every pair with any function from n sentence pairs to n numbers.

    A similarity that is not a number (the cosine with a zero vector, where a function leaves it undefined) counts as
    0, as in SentEval (Conneau and Kiela 2018).

    Raises:
        InputError: If there are no sets, or one of them is empty.
        ModelError: If the function gives another number of similarities than pairs, or infinity.
    """
    _check(sets)
    scored = []
    for graded in sets:
        similarities = np.asarray(similarity(graded.sentences1, graded.sentences2), dtype=np.float64)
        if similarities.shape != (len(graded),):
            raise ModelError(f"similarities of shape {similarities.shape} for the {len(graded)} pairs of {graded.key}")
        if np.isinf(similarities).any():
            raise ModelError(f"an infinite similarity in {graded.key}")
        scored.append(ScoredSet(graded, np.where(np.isnan(similarities), 0.0, similarities)))
    return tuple(scored)


def _check(sets: Sequence[GradedSet]) -> None:
    if not sets:
        raise InputError("there is no graded set to evaluate")
    for graded in sets:
        if len(graded) == 0:
            raise InputError(f"the set {graded.key} has no scored pair")

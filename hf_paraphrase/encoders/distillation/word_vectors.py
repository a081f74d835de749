"""Word vectors distilled from a sentence encoder, without any training.

Every word is encoded as a sentence of its own, and a principal component analysis brings the vectors to fewer
components.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ...training.word_vectors import WordVectors

if TYPE_CHECKING:
    from ..sentence_encoder import SentenceEncoder

DISTILLED_DIMENSION = 256
"""How many components are kept unless another number is asked for."""


def distill_word_vectors(
    teacher: SentenceEncoder,
    words: Sequence[str],
    *,
    dimension: int = DISTILLED_DIMENSION,
    show_progress_bar: bool = False,
) -> WordVectors:
    """Makes vectors of words: each is encoded by the teacher, then projected on the principal components."""
    vectors = teacher.encode(words, show_progress_bar=show_progress_bar)
    most = min(vectors.shape)
    if dimension > most:
        kind = "components of the sentence encoder" if most == vectors.shape[1] else "words"
        raise InputError(
            f"{dimension} components from {most} {kind}", remedy=f"ask for at most {most} (--hidden-size)"
        )
    return WordVectors(list(words), principal_components(vectors, dimension), len(words))


def principal_components(vectors: NDArray[np.float32], dimension: int) -> NDArray[np.float32]:
    """Projects centred vectors on the directions of their greatest variance, without whitening.

    It is the full decomposition, in float64 over the covariance: the same as scikit-learn's `PCA` but for signs, which
    are set so that the largest entry of each direction is positive.
    """
    centre = vectors.mean(0, dtype=np.float64)
    covariance = np.zeros((vectors.shape[1], vectors.shape[1]))
    for block in _blocks(vectors):
        centred = block - centre
        covariance += centred.T @ centred
    directions = np.linalg.eigh(covariance)[1][:, ::-1][:, :dimension]
    largest = directions[np.abs(directions).argmax(0), np.arange(dimension)]
    directions = directions * np.where(largest < 0, -1.0, 1.0)
    parts = [((block - centre) @ directions).astype(np.float32) for block in _blocks(vectors)]
    return np.concatenate(parts) if parts else np.zeros((0, dimension), np.float32)


def _blocks(vectors: NDArray[np.float32], size: int = 1 << 14) -> list[NDArray[np.float32]]:
    return [vectors[start : start + size] for start in range(0, len(vectors), size)]

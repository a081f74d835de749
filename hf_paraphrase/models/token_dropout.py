"""Dropout of word vectors and of recurrent states, shared by the recurrent encoders."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional


def token_dropout(
    vectors: Tensor,
    rank_of_token: Tensor,
    sentences: int,
    *,
    dropout: float,
    word_dropout: float,
    variational_dropout: float,
) -> Tensor:
    """Drops components of packed word vectors (total, dim), or whole ones; what is left is scaled up.

    Args:
        vectors: The word vectors.
        rank_of_token: The sentence of each (total,).
        sentences: The number of sentences.
        dropout: The probability for every single component.
        word_dropout: The probability for a whole vector.
        variational_dropout: The probability for a component in all words of a sentence at once (Gal and Ghahramani
            2016: one mask for a sequence, the same at every step).
    """
    if word_dropout > 0:
        vectors = vectors * functional.dropout(vectors.new_ones(vectors.shape[0], 1), word_dropout)
    if variational_dropout > 0:
        masks = variational_mask(vectors, sentences, vectors.shape[1], variational_dropout)
        vectors = vectors * masks[rank_of_token]
    return functional.dropout(vectors, dropout)


def variational_mask(like: Tensor, sentences: int, size: int, probability: float) -> Tensor:
    """Draws factors (sentences, size) like a tensor: 0 with the probability, else 1 / (1 - probability)."""
    return functional.dropout(like.new_ones(sentences, size), probability)

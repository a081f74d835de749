"""The margin loss of paper 000, equations 2 to 4."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor

from .negatives import NONE, normalize_rows


def margin_loss(vectors: Tensor, chosen: Tensor, *, margin: float) -> Tensor:
    """Computes the mean over the pairs (s, t) of a batch of the two hinges with the negatives n_s and n_t.

        max(0, margin - cos(s, t) + cos(s, n_s)) + max(0, margin - cos(s, t) + cos(t, n_t))

    The gradient flows through the negatives too, as in the reference code. A sentence without an admissible negative
    adds no hinge, and the mean is still taken over all pairs. Paper 000 gives the loss for the whole training set;
    the reference code averages over the batch, and so does this.

    Args:
        vectors: Sentence embeddings (2 * pairs + more, dim): the first sentences, then their partners in the same
            order, then any others that serve as negatives.
        chosen: The index of each sentence's negative (2 * pairs,), or :data:`~.negatives.NONE`.
        margin: The margin, a difference of cosines.

    Returns:
        The loss, a scalar.
    """
    unit = normalize_rows(vectors)
    pairs = chosen.shape[0] // 2
    positive = (unit[:pairs] * unit[pairs : 2 * pairs]).sum(1).repeat(2)
    negative = (unit[: 2 * pairs] * unit[chosen.clamp_min(0)]).sum(1)
    hinges = (margin - positive + negative).clamp_min(0.0)
    return torch.where(chosen == NONE, torch.zeros_like(hinges), hinges).sum() / pairs


def compositional_penalty(parameters: Iterable[Tensor], weight: float) -> Tensor | float:
    """Computes 0.5 * weight * ||theta_c||^2 over the compositional parameters, i.e. all but the word vectors.

    The factor 0.5 stands in the reference code, not in paper 000 (equation 3), where the weight is 0.
    """
    total: Tensor | float = 0.0
    for parameter in parameters:
        total = total + parameter.square().sum()
    return 0.5 * weight * total


def drift_penalty(embeddings: Tensor, initial: Tensor, weight: float) -> Tensor:
    """Computes 0.5 * weight * ||W - W_init||^2 for word vectors (words, dim) (paper 000, equation 4)."""
    return 0.5 * weight * (embeddings - initial).square().sum()

"""The losses of the papers, each a module with its settings and its source."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

import torch
from torch import Tensor, nn

from .negatives import NONE, normalize_rows


class EncoderLoss(nn.Module):
    """A loss on the embeddings of pairs.

    Args:
        margin: The margin; None for the class's own :attr:`default_margin`.

    Attributes:
        default_margin: The margin that the source uses.
        needs_labels: Whether it learns from pairs labelled as paraphrases or not, instead of searching negatives.
        description: What it is, in a few words, for the model card.
        source: Where it was published, for the model card.

    Raises:
        ValueError: If the margin is negative.
    """

    default_margin: ClassVar[float]
    needs_labels: ClassVar[bool]
    description: ClassVar[str]
    source: ClassVar[str]

    def __init__(self, margin: float | None = None) -> None:
        super().__init__()
        self.margin = self.default_margin if margin is None else margin
        if not self.margin >= 0:
            raise ValueError(f"margin must not be negative, not {self.margin}")

    @property
    def settings(self) -> dict[str, float]:
        """What was chosen, by name."""
        return {"margin": self.margin}

    def extra_repr(self) -> str:
        """Returns the settings for the module's representation."""
        return ", ".join(f"{name}={value}" for name, value in self.settings.items())


class MarginLoss(EncoderLoss):
    """The two-sided hinge of paper 000, equations 2 to 4, with searched negatives.

    The mean over the pairs (s, t) of a batch of the two hinges with the negatives n_s and n_t:

        max(0, margin - cos(s, t) + cos(s, n_s)) + max(0, margin - cos(s, t) + cos(t, n_t))

    The gradient flows through the negatives too, as in the reference code. A sentence without an admissible negative
    adds no hinge, and the mean is still taken over all pairs. Paper 000 gives the loss for the whole training set; the
    reference code averages over the batch, and so does this.
    """

    default_margin = 0.4
    needs_labels = False
    description = "two-sided margin loss with the negatives searched in the batch"
    source = "Wieting, Mallinson and Gimpel 2017, equations 2 to 5"

    def forward(self, vectors: Tensor, chosen: Tensor) -> Tensor:
        """Computes the loss, a scalar.

        Args:
            vectors: Sentence embeddings (2 * pairs + more, dim): the first sentences, then their partners in the same
                order, then any others that serve as negatives.
            chosen: The index of each sentence's negative (2 * pairs,), or :data:`~.negatives.NONE`.
        """
        unit = normalize_rows(vectors)
        pairs = chosen.shape[0] // 2
        positive = (unit[:pairs] * unit[pairs : 2 * pairs]).sum(1).repeat(2)
        negative = (unit[: 2 * pairs] * unit[chosen.clamp_min(0)]).sum(1)
        hinges = (self.margin - positive + negative).clamp_min(0.0)
        return torch.where(chosen == NONE, torch.zeros_like(hinges), hinges).sum() / pairs


class ContrastiveLoss(EncoderLoss):
    """The contrastive margin loss of paper 003 on labelled pairs.

    With d = 1 - cos(s, t), y = 1 for a paraphrase and 0 otherwise, the mean over the pairs of

        y * d + (1 - y) * max(0, margin - d)^2

    The formula as printed multiplies the hinge with y and its brackets do not match; the text under it says that the
    hinge is for pairs that are no paraphrases, and only the hinge is squared. The paper does not state its margin.
    """

    default_margin = 0.5
    needs_labels = True
    description = "contrastive margin loss on labelled pairs"
    source = "Sjöblom, Creutz and Aulamo 2018, section 3.2"

    def forward(self, vectors: Tensor, labels: Tensor) -> Tensor:
        """Computes the loss, a scalar.

        Args:
            vectors: Sentence embeddings (2 * pairs, dim): the first sentences, then their partners in the same order.
            labels: 1 for a paraphrase, 0 for another pair (pairs,).
        """
        first, second = normalize_rows(vectors).chunk(2)
        distance = 1.0 - (first * second).sum(1)
        apart = (self.margin - distance).clamp_min(0.0).square()
        return torch.where(labels.bool(), distance, apart).mean()


LOSSES: dict[str, type[EncoderLoss]] = {"margin": MarginLoss, "contrastive": ContrastiveLoss}
"""The losses by the names that the command line knows."""


def compositionality_loss(vectors: Tensor, expanded: Tensor, rows: Tensor) -> Tensor:
    """Computes the compositionality loss of paper 004, section 2.1: the mean of 1 - cos(original, expanded).

    The mean is over all sentences of the batch. One with nothing to expand is its own expansion and adds 0.

    Args:
        vectors: Sentence embeddings (sentences, dim).
        expanded: The embeddings of expansions (expanded, dim).
        rows: The sentence that each of them expands (expanded,).
    """
    cosines = (normalize_rows(vectors)[rows] * normalize_rows(expanded)).sum(1)
    return (1.0 - cosines).sum() / max(len(vectors), 1)


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

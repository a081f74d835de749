"""The losses of sentence pairs, each with its settings and its source.

A loss is an `nn.Module` whose `forward(vectors, …)` takes the embeddings of a batch and, by the names of its further
parameters, `negatives`, `candidates`, `labels` and `given_negatives`; see :func:`loss_requires`.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import UsageError
from .negatives import NO_NEGATIVE, normalize_rows

NEGATIVES, CANDIDATES, LABELS, GIVEN_NEGATIVES = "negatives", "candidates", "labels", "given_negatives"
_GIVEN = (NEGATIVES, CANDIDATES, LABELS, GIVEN_NEGATIVES)


def loss_requires(loss: nn.Module | type[nn.Module], name: str) -> bool:
    """Return whether the `forward` of a loss has a parameter of this name besides the embeddings.

    Its first parameter, `vectors` (2 * pairs + more, dim), has the embeddings of the first sentences, then of their
    partners in the same order, and then of further sentences that serve as negatives. It may have the parameters

    * `negatives` (2 * pairs,): the index of each sentence's negative among the vectors, or
      :data:`~.negatives.NO_NEGATIVE`. The settings define the search;
    * `candidates` (2 * pairs, all vectors): bool, True if the vector may be a negative of the sentence;
    * `given_negatives` (pairs,): the index of the first negative of each pair in the data;
    * `labels` (pairs,): the degree of paraphrase of each pair, from the column `label` (1 or 0) or `score` (0 to 1),
      which is then required. Without this parameter pairs labelled 0 are left out.
    """
    if isinstance(loss, MatryoshkaLoss):
        return loss_requires(loss.loss, name)
    _, *parameters = inspect.signature((loss if isinstance(loss, type) else type(loss)).forward).parameters.values()
    for parameter in parameters[1:]:
        is_variadic = parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        if parameter.default is parameter.empty and not is_variadic and parameter.name not in _GIVEN:
            what = f"the forward method of the loss has the unknown parameter `{parameter.name}`"
            raise UsageError(what, remedy=f"use {', '.join(_GIVEN)}")
    return name in [parameter.name for parameter in parameters[1:]]


def list_loss_options(loss: type[nn.Module]) -> dict[str, Any]:
    """Return the options of a class of losses, and their defaults."""
    return {name: parameter.default for name, parameter in inspect.signature(loss).parameters.items()}


def describe_loss(loss: nn.Module) -> dict[str, Any]:
    """Describe a loss for a card, by the name of its class if it has no description of its own."""
    loss = loss.loss if isinstance(loss, MatryoshkaLoss) else loss
    is_described = "description" in vars(type(loss))
    return {
        "loss": loss.description if is_described else type(loss).__name__,
        "loss_source": getattr(loss, "source", None) if is_described else None,
        "margin": getattr(loss, "margin", None),
        "searches_negatives": loss_requires(loss, NEGATIVES),
    }


class MarginLoss(nn.Module):
    """The two-sided hinge of Wieting et al. (2017), equations 2 to 4, with searched negatives.

    The mean over the pairs (s, t) of a batch of the two hinges with the negatives n_s and n_t:

        max(0, margin - cos(s, t) + cos(s, n_s)) + max(0, margin - cos(s, t) + cos(t, n_t))

    The gradient flows through the negatives too. A sentence without an admissible negative adds no hinge, and the mean
    is still over all pairs. The paper sums over the training set; the reference code and this loss average over the
    batch.
    """

    description = "two-sided margin loss with the negatives searched in the batch"
    source = "Wieting, Mallinson and Gimpel 2017, equations 2 to 5"

    def __init__(self, margin: float = 0.4) -> None:
        super().__init__()
        self.margin = margin

    def forward(self, vectors: Tensor, negatives: Tensor) -> Tensor:
        """Compute the loss, a scalar; see :func:`loss_requires`."""
        unit = normalize_rows(vectors)
        pairs = negatives.shape[0] // 2
        positive = (unit[:pairs] * unit[pairs : 2 * pairs]).sum(1).repeat(2)
        negative = (unit[: 2 * pairs] * unit[negatives.clamp_min(0)]).sum(1)
        hinges = (self.margin - positive + negative).clamp_min(0.0)
        return torch.where(negatives == NO_NEGATIVE, torch.zeros_like(hinges), hinges).sum() / pairs


class ContrastiveLoss(nn.Module):
    """The contrastive margin loss of Sjöblom et al. (2018) on labelled pairs: the loss `labelled`.

    With d = 1 - cos(s, t), y = 1 for a paraphrase and 0 otherwise, the mean over the pairs of

        y * d + (1 - y) * max(0, margin - d)^2

    The printed formula multiplies the hinge with y; the text of the paper applies it to pairs that are no paraphrases.
    The paper does not state its margin. A score y from 0 to 1 weights the two terms.
    """

    description = "contrastive margin loss on labelled pairs"
    source = "Sjöblom, Creutz and Aulamo 2018, section 3.2"

    def __init__(self, margin: float = 0.5) -> None:
        super().__init__()
        self.margin = margin

    def forward(self, vectors: Tensor, labels: Tensor) -> Tensor:
        """Compute the loss, a scalar; see :func:`loss_requires`."""
        first, second = normalize_rows(vectors[: 2 * len(labels)]).chunk(2)
        distance = 1.0 - (first * second).sum(1)
        hinge = (self.margin - distance).clamp_min(0.0).square()
        degree = labels.to(distance.dtype)
        return (degree * distance + (1.0 - degree) * hinge).mean()


class RankingLoss(nn.Module):
    """Cross-entropy over scaled cosines: the partner of each first sentence among all candidates of its side.

    With t_j the partners of all pairs and the negatives in the data, the mean over the pairs (s_i, t_i) of

        -log(exp(scale * cos(s_i, t_i)) / sum over j of exp(scale * cos(s_i, t_j)))

    without the t_j that are related to the pair (see :class:`~.negatives.PairGroups`).
    """

    description = "cross-entropy over the scaled cosines of the batch"
    source = "Henderson et al. 2017, section 4"

    def __init__(self, scale: float = 20.0) -> None:
        super().__init__()
        self.scale = scale

    def forward(self, vectors: Tensor, candidates: Tensor) -> Tensor:
        """Compute the loss, a scalar; see :func:`loss_requires`."""
        pairs = len(candidates) // 2
        unit = normalize_rows(vectors)
        cosines = unit[:pairs] @ unit[pairs:].T
        own = torch.arange(pairs, device=vectors.device)
        counts = candidates[:pairs, pairs:].clone()
        counts[own, own] = True
        return nn.functional.cross_entropy((self.scale * cosines).masked_fill(~counts, -torch.inf), own)


class SymmetricRankingLoss(RankingLoss):
    """The mean of the ranking losses in both directions: the loss `symmetric-ranking`.

    Negatives in the data serve in the first direction only, as in sentence-transformers.
    """

    description = "cross-entropy over the scaled cosines of the batch, in both directions"
    source = "Henderson et al. 2017, section 4"

    def forward(self, vectors: Tensor, candidates: Tensor) -> Tensor:
        """Compute the loss, a scalar; see :func:`loss_requires`."""
        pairs = len(candidates) // 2
        turned = torch.cat([vectors[pairs : 2 * pairs], vectors[:pairs]])
        both = candidates[: 2 * pairs, : 2 * pairs].roll((pairs, pairs), (0, 1))
        return (super().forward(vectors, candidates) + super().forward(turned, both)) / 2


class CosentLoss(nn.Module):
    """Ranks the cosines of pairs like their labels or scores: the loss `cosent`.

    The loss is log(1 + sum of exp(scale * (c_i - c_j)) over all i, j with y_i < y_j), with cosines c and labels y.
    """

    description = "CoSENT: cosines of pairs ranked like their labels or scores"
    source = "Su 2022, CoSENT"

    def __init__(self, scale: float = 20.0) -> None:
        super().__init__()
        self.scale = scale

    def forward(self, vectors: Tensor, labels: Tensor) -> Tensor:
        """Compute the loss, a scalar; see :func:`loss_requires`."""
        first, second = normalize_rows(vectors[: 2 * len(labels)]).chunk(2)
        scores = self.scale * (first * second).sum(1)
        differences = (scores[:, None] - scores)[labels[:, None] < labels]
        return torch.cat([differences.new_zeros(1), differences]).logsumexp(0)


class TripletLoss(nn.Module):
    """The hinge of Euclidean distances to the partner and to the negative in the data: the loss `triplet`.

    The mean over the triplets (a, p, n) of max(0, |a - p| - |a - n| + margin); pairs without a negative add nothing.
    """

    description = "triplet loss on the negatives of the data"
    source = "Schroff, Kalenichenko and Philbin 2015"

    def __init__(self, margin: float = 5.0) -> None:
        super().__init__()
        self.margin = margin

    def forward(self, vectors: Tensor, given_negatives: Tensor) -> Tensor:
        """Compute the loss, a scalar; see :func:`loss_requires`."""
        pairs = len(given_negatives)
        anchor, partner = vectors[:pairs], vectors[pairs : 2 * pairs]
        distance = nn.functional.pairwise_distance
        hinges = distance(anchor, partner) - distance(anchor, vectors[given_negatives.clamp_min(0)]) + self.margin
        exists = given_negatives != NO_NEGATIVE
        return (hinges.clamp_min(0.0) * exists).sum() / exists.sum().clamp_min(1)


class MatryoshkaLoss(nn.Module):
    """The mean of a loss on whole vectors and on their first components (Kusupati et al. 2022)."""

    def __init__(self, loss: nn.Module, dims: Sequence[int]) -> None:
        super().__init__()
        self.loss, self.dims = loss, sorted(set(dims))

    def forward(self, vectors: Tensor, **given: Tensor) -> Tensor:
        """Compute the loss, a scalar, with the further parameters of the inner loss."""
        sizes = [size for size in self.dims if size < vectors.shape[1]] + [vectors.shape[1]]
        losses = [self.loss(vectors[:, :size], **given) for size in sizes]
        return torch.stack(losses).mean()

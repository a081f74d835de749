"""Chooses the negative example of each sentence from the mini-batch (paper 000, equation 5)."""

from __future__ import annotations

import torch
from torch import Tensor

NEGATIVES = ("max", "random", "mix")
NEGATIVES_FROM = ("both", "opposite")
NONE = -1
"""The index that stands for "no admissible negative"."""


def normalize_rows(vectors: Tensor) -> Tensor:
    """Divides each row (…, dim) by its Euclidean norm; a zero row stays zero and gets no gradient.

    A row without direction is similar to nothing: its cosine with anything is 0. (A floor under the norm, as in the
    reference code, gives the same cosine but a huge gradient.)
    """
    norms = torch.linalg.vector_norm(vectors, dim=-1, keepdim=True)
    empty = norms == 0
    return torch.where(empty, torch.zeros_like(vectors), vectors / norms.masked_fill(empty, 1.0))


def admissible_negatives(keys: Tensor, *, negatives_from: str = "both") -> Tensor:
    """Tells which sentences of a batch may serve as the negative of which.

    Never admissible are the sentence itself, its partner, and every sentence with the same token sequence as one of
    these two: such a "negative" would be the sentence or its paraphrase again.

    Args:
        keys: A number for each token sequence (2 * pairs,), equal where the sequences are equal; the first half
            belongs to the first sentences of the pairs and the second half to their partners in the same order.
        negatives_from: `both` sides of the other pairs (the reference code), or the `opposite` side only (paper 001).

    Returns:
        Booleans (2 * pairs, 2 * pairs); row i is for sentence i.
    """
    pairs = keys.shape[0] // 2
    partners = keys.roll(pairs)
    admissible = (keys.unsqueeze(1) != keys.unsqueeze(0)) & (partners.unsqueeze(1) != keys.unsqueeze(0))
    if negatives_from == "opposite":
        side = torch.arange(2 * pairs, device=keys.device) >= pairs
        admissible &= side.unsqueeze(1) != side.unsqueeze(0)
    elif negatives_from != "both":
        raise ValueError(f"negatives_from must be one of {', '.join(NEGATIVES_FROM)}, not {negatives_from!r}")
    return admissible


@torch.no_grad()
def choose_negatives(
    vectors: Tensor,
    keys: Tensor,
    *,
    negatives: str = "max",
    negatives_from: str = "both",
    generator: torch.Generator | None = None,
) -> Tensor:
    """Chooses one negative for every sentence of a batch, without gradient.

    Args:
        vectors: Sentence embeddings (2 * pairs, dim): the first sentences, then their partners in the same order.
        keys: A number for each token sequence (2 * pairs,), as for :func:`admissible_negatives`.
        negatives: `max`, the admissible sentence of the greatest cosine (paper 000, equation 5); `random`, a uniformly
            drawn one; `mix`, one or the other by a fair coin for each sentence.
        negatives_from: `both` or `opposite`, as for :func:`admissible_negatives`.
        generator: The source of randomness for `random` and `mix`, on the CPU, so that a seed means the same on
            every device.

    Returns:
        Indices into the batch (2 * pairs,), int64; :data:`NONE` where no sentence is admissible.

    Raises:
        ValueError: For an unknown mode.
    """
    if negatives not in NEGATIVES:
        raise ValueError(f"negatives must be one of {', '.join(NEGATIVES)}, not {negatives!r}")
    admissible = admissible_negatives(keys, negatives_from=negatives_from)
    unit = normalize_rows(vectors)
    similarity = (unit @ unit.T).masked_fill(~admissible, -torch.inf)
    chosen = similarity.argmax(1)
    if negatives != "max":
        draws = torch.rand(admissible.shape, generator=generator).to(keys.device)
        drawn = draws.masked_fill(~admissible, -1.0).argmax(1)
        coin = torch.rand(keys.shape, generator=generator).to(keys.device) < 0.5
        chosen = drawn if negatives == "random" else torch.where(coin, chosen, drawn)
    return chosen.masked_fill(~admissible.any(1), NONE)

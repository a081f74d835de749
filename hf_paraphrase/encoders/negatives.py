"""Chooses the negative example of each sentence (paper 000, equation 5): among a mini-batch, or among a mega-batch.

A mini-batch is small enough for a table of all with all; a mega-batch is searched in blocks, so that memory stays
bounded.
"""

from __future__ import annotations

import torch
from torch import Tensor

NEGATIVES = ("max", "random", "mix")
NEGATIVES_FROM = ("both", "opposite")
NONE = -1
"""The index that stands for "no admissible negative"."""
BLOCK_CELLS = 1 << 22
"""The most cosines held at a time (16 MiB in float32), as long as a single row has fewer."""


def normalize_rows(vectors: Tensor) -> Tensor:
    """Divides each row (…, dim) by its Euclidean norm; a zero row stays zero and gets no gradient.

    A row without direction is similar to nothing: its cosine with anything is 0. (A floor under the norm, as in the
    reference code, gives the same cosine but a huge gradient.)
    """
    norms = torch.linalg.vector_norm(vectors, dim=-1, keepdim=True)
    empty = norms == 0
    return torch.where(empty, torch.zeros_like(vectors), vectors / norms.masked_fill(empty, 1.0))


def admissible_negatives(keys: Tensor, *, negatives_from: str = "both") -> Tensor:
    """Returns which sentences of a batch may serve as the negative of which.

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


class _Candidates:
    """Candidate negatives (candidates,), grouped by token sequence; `first` is the index of the first."""

    def __init__(self, keys: Tensor, first: int) -> None:
        self.first = first
        self.size = keys.shape[0]
        self.keys, self.order = torch.sort(keys, stable=True)

    def excluded(self, own: Tensor, partner: Tensor) -> tuple[Tensor, Tensor]:
        """Finds the inadmissible candidates: starts and lengths of two spans of `order`, both (sentences, 2)."""
        wanted = torch.stack([torch.minimum(own, partner), torch.maximum(own, partner)], 1).contiguous()
        starts = torch.searchsorted(self.keys, wanted)
        lengths = torch.searchsorted(self.keys, wanted, right=True) - starts
        # Where both sides of a pair are the same text there is one run, not the same one twice.
        lengths[:, 1] = lengths[:, 1].masked_fill(own == partner, 0)
        return starts, lengths

    def hardest(self, unit: Tensor, rows: slice, starts: Tensor, lengths: Tensor, buffer: Tensor) -> Tensor:
        """Finds the admissible candidate of greatest cosine for a block of sentences, as an index (rows,)."""
        # `buffer` (at least rows, candidates) is overwritten: fresh memory for every block would cost page faults.
        similarity = buffer[: rows.stop - rows.start]
        torch.mm(unit[rows], unit[self.first : self.first + self.size].T, out=similarity)
        for run in range(2):
            counts = lengths[:, run]
            row = torch.repeat_interleave(torch.arange(len(counts), device=unit.device), counts)
            place = torch.arange(len(row), device=unit.device) - (counts.cumsum(0) - counts - starts[:, run])[row]
            similarity[row, self.order[place]] = -torch.inf
        return similarity.argmax(1) + self.first

    def drawn(self, draws: Tensor, starts: Tensor, lengths: Tensor) -> Tensor:
        """Takes each sentence's admissible candidate at a place, drawn from [0, 1), of their list (sentences,)."""
        count = self.size - lengths.sum(1)
        place = (draws * count).long().clamp_max((count - 1).clamp_min(0))
        for run in range(2):
            place = place + lengths[:, run] * (place >= starts[:, run])
        return self.order[place.clamp_max(self.size - 1)] + self.first


@torch.no_grad()
def search_negatives(
    vectors: Tensor,
    keys: Tensor,
    *,
    negatives: str = "max",
    negatives_from: str = "both",
    generator: torch.Generator | None = None,
    rows: range | None = None,
    block_cells: int = BLOCK_CELLS,
) -> Tensor:
    """Chooses one negative for every sentence of a mega-batch, without gradient.

    The rules are those of :func:`choose_negatives`: never the sentence itself, its partner or the same
    token sequence as one of these two. At most `block_cells` cosines (or one row of them) exist at a time, and what
    is inadmissible is found by sorting, not by comparing all with all; beside the blocks, memory grows with the number
    of sentences, not with its square. The size of the blocks does not change the result.

    Args:
        vectors: Sentence embeddings (2 * pairs, dim): the first sentences, then their partners in the same order.
        keys: A number for each token sequence (2 * pairs,), equal where the sequences are equal.
        negatives: `max`, the admissible sentence of the greatest cosine; `random`, a uniformly drawn one: with u the
            sentence's draw and n the number of its admissible sentences, number ⌊u n⌋ of them in the order of
            (key, index); `mix`, one or the other by a fair coin for each sentence.
        negatives_from: `both` sides of the other pairs, or the `opposite` side only.
        generator: The source of randomness for `random` and `mix`, on the CPU: first a draw in float64 for every
            sentence, then a coin for every sentence (heads, i.e. `max`, below one half).
        rows: The sentences to choose for; None for all. The draws of the others are made all the same, so several
            processes that share the work find what one would.
        block_cells: The most cosines held at a time.

    Returns:
        Indices into the mega-batch (rows,), int64; :data:`NONE` where no sentence is admissible.
    """
    if negatives not in NEGATIVES:
        raise ValueError(f"negatives must be one of {', '.join(NEGATIVES)}, not {negatives!r}")
    if negatives_from not in NEGATIVES_FROM:
        raise ValueError(f"negatives_from must be one of {', '.join(NEGATIVES_FROM)}, not {negatives_from!r}")
    size = keys.shape[0]
    pairs = size // 2
    rows = range(size) if rows is None else rows
    draws = coins = torch.empty(0)
    if negatives != "max":
        draws = torch.rand(size, generator=generator, dtype=torch.float64).to(keys.device)
        coins = torch.rand(size, generator=generator).to(keys.device) < 0.5
    unit = normalize_rows(vectors) if negatives != "random" else vectors
    partners = keys.roll(pairs)
    if negatives_from == "both":
        runs = [(range(size), _Candidates(keys, 0))]
    else:
        runs = [(range(pairs), _Candidates(keys[pairs:], pairs)), (range(pairs, size), _Candidates(keys[:pairs], 0))]
    chosen = keys.new_empty(len(rows))
    for sentences, candidates in runs:
        begin, end = max(sentences.start, rows.start), min(sentences.stop, rows.stop)
        step = max(1, block_cells // max(1, candidates.size))
        buffer = unit.new_empty(max(0, min(step, end - begin)) if negatives != "random" else 0, candidates.size)
        for start in range(begin, end, step):
            block = slice(start, min(start + step, end))
            starts, lengths = candidates.excluded(keys[block], partners[block])
            if negatives == "max":
                hardest_ids = candidates.hardest(unit, block, starts, lengths, buffer)
            else:
                hardest_ids = candidates.drawn(draws[block], starts, lengths)
            if negatives == "mix":
                hardest = candidates.hardest(unit, block, starts, lengths, buffer)
                hardest_ids = torch.where(coins[block], hardest, hardest_ids)
            nothing = lengths.sum(1) == candidates.size
            chosen[block.start - rows.start : block.stop - rows.start] = hardest_ids.masked_fill(nothing, NONE)
    return chosen

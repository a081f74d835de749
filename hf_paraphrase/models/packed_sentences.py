"""The order in which recurrent layers see the tokens of a batch.

A saved folder of a model that uses this file holds a copy of it, because each folder travels to the Hub by itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor
from torch.nn import functional


@dataclass(frozen=True)
class PackedSentences:
    """Where the counted tokens of a batch are when they are packed: first tokens first, then second ones, and so on.

    Within a step the sentences stand longest first, so that those that still run are a block from the beginning. This
    is the order of `torch.nn.utils.rnn.PackedSequence`.

    How many sentences run at each step must be known to whoever starts the steps. It is asked for once a batch, and
    the size of all else follows from it, so that a GPU is waited for once.

    Attributes:
        shape: That of the padded batch, (batch, length).
        tokens: Where the tokens that count stand in it, row by row (total,).
        places: The packed place of each of them (total,).
        batch_sizes: How many sentences still run at each step.
        starts: The packed place of the first token of each step (steps,).
        ranks: The rank of each sentence by length (batch,).
        slots: step * (sentences with a token) + rank for each packed token (total,).
        lengths: The number of counted tokens of each sentence (batch,).
    """

    shape: tuple[int, int]
    tokens: Tensor
    places: Tensor
    batch_sizes: list[int]
    starts: Tensor
    ranks: Tensor
    slots: Tensor
    lengths: Tensor

    @classmethod
    def of_mask(cls, counted: Tensor) -> PackedSentences:
        """Finds the places for a mask (batch, length); padding may be on any side or between tokens."""
        batch, device = counted.shape[0], counted.device
        lengths = counted.sum(1)
        order = lengths.argsort(descending=True, stable=True)
        ranks = torch.empty_like(order).scatter_(0, order, torch.arange(batch, device=device))
        running = lengths[order] > torch.arange(counted.shape[1], device=device).unsqueeze(1)
        sizes = running.sum(1)
        starts = sizes.cumsum(0) - sizes
        batch_sizes = [size for size in sizes.tolist() if size]
        total = sum(batch_sizes)
        slots = _true_places(running[: len(batch_sizes), : batch_sizes[0] if batch_sizes else 0], total)
        tokens = _true_places(counted, total)
        steps = counted.cumsum(1).flatten()[tokens] - 1
        places = starts[steps] + ranks.repeat_interleave(lengths, output_size=total)
        shape = (batch, counted.shape[1])
        return cls(shape, tokens, places, batch_sizes, starts[: len(batch_sizes)], ranks, slots, lengths)

    @property
    def rank_of_token(self) -> Tensor:
        """The rank of the sentence of each packed token (total,)."""
        return self.slots % self.batch_sizes[0] if self.batch_sizes else self.slots

    def pack(self, values: Tensor) -> Tensor:
        """Packs values (batch, length) to (total,)."""
        return torch.empty_like(self.places, dtype=values.dtype).scatter_(
            0, self.places, values.flatten()[self.tokens]
        )

    def unpack(self, vectors: Tensor) -> Tensor:
        """Puts packed vectors (total, dim) where their tokens are (batch, length, dim); zero elsewhere."""
        flat = vectors.new_zeros(self.shape[0] * self.shape[1], vectors.shape[1])
        return flat.index_copy(0, self.tokens, vectors[self.places]).unflatten(0, self.shape)

    def mean(self, vectors: Tensor) -> Tensor:
        """Computes the mean of the packed vectors (total, dim) of each sentence (batch, dim); zero without any."""
        return self.by_row(self.pad(vectors).sum(0)) / self.lengths.clamp_min(1).unsqueeze(1).to(vectors.dtype)

    def by_row(self, vectors: Tensor) -> Tensor:
        """Puts vectors of sentences, by rank, in the order of the batch (batch, dim); zero without tokens."""
        # Sentences without tokens have the last ranks.
        return functional.pad(vectors, (0, 0, 0, len(self.ranks) - len(vectors)))[self.ranks]

    def last(self, vectors: Tensor) -> Tensor:
        """Returns the packed vector (total, dim) of the last token of each sentence (batch, dim); zero without any."""
        result = vectors.new_zeros(self.ranks.shape[0], vectors.shape[1])
        with_tokens = _true_places(self.lengths > 0, self.batch_sizes[0] if self.batch_sizes else 0)
        places = self.starts[self.lengths[with_tokens] - 1] + self.ranks[with_tokens]
        return result.index_copy(0, with_tokens, vectors[places])

    def reversal(self) -> Tensor:
        """Computes the packed place of the mirror image of each packed token in its sentence (total,)."""
        if not self.batch_sizes:
            return self.slots
        steps = self.slots // self.batch_sizes[0]
        return self.starts[self.lengths_of_tokens() - 1 - steps] + self.rank_of_token

    def lengths_of_tokens(self) -> Tensor:
        """The length of the sentence of each packed token (total,)."""
        lengths = torch.empty_like(self.lengths).scatter_(0, self.ranks, self.lengths)
        return lengths[self.rank_of_token]

    def differences(self, states: Tensor) -> Tensor:
        """Computes h_t - h_{t-1} for packed states (total, dim), with h_0 = 0."""
        if not self.batch_sizes:
            return states
        steps = states.split(self.batch_sizes)
        previous = [before[: len(now)] for before, now in pairwise(steps)]
        return states - torch.cat([torch.zeros_like(steps[0]), *previous])

    def pad(self, vectors: Tensor) -> Tensor:
        """Returns packed vectors (total, dim) as (steps, sentences with a token, dim), zero behind the end of one."""
        steps, sentences, dim = len(self.batch_sizes), self.batch_sizes[0] if self.batch_sizes else 0, vectors.shape[1]
        if vectors.shape[0] == steps * sentences:
            return vectors.reshape(steps, sentences, dim)
        flat = vectors.new_zeros(steps * sentences, dim)
        return flat.index_copy(0, self.slots, vectors).reshape(steps, sentences, dim)

    def unpad(self, vectors: Tensor) -> Tensor:
        """Packs what :meth:`pad` gives, or anything of that shape."""
        flat = vectors.flatten(0, 1)
        return flat if flat.shape[0] == self.slots.shape[0] else flat[self.slots]

    def share_of(self, mask: Tensor) -> Tensor:
        """Computes the number of tokens in `mask` (batch, length) over that of counted ones, (batch, 1, 1)."""
        return (mask.sum(1) / self.lengths.clamp_min(1)).view(-1, 1, 1)


def _true_places(mask: Tensor, count: int) -> Tensor:
    """Finds where the elements of a mask that are true stand in it, row by row (count,)."""
    flat = mask.flatten()
    if flat.device.type == "cpu":
        return flat.nonzero().squeeze(1)
    # A GPU would be waited for to learn how many there are.
    return flat.to(torch.uint8).argsort(descending=True, stable=True)[:count]

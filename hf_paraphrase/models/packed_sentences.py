"""The order in which recurrent layers read the tokens of a batch; saved with the weights."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor
from torch.nn import functional


@dataclass(frozen=True)
class PackedSentences:
    """The packed order of a batch: the first tokens of all sentences, then the second tokens, and so on.

    Within a step the longest sentences come first. This is the order of `torch.nn.utils.rnn.PackedSequence`.

    Attributes:
        shape: The shape of the padded batch, (batch, length).
        tokens: The flat index of each packed token in the padded batch (total,).
        slots: step * (sentences with a token) + rank for each packed token (total,).
        batch_sizes: The number of sentences with a token at each step.
        starts: The packed index of the first token of each step (steps,).
        ranks: The rank of each sentence by length (batch,).
        lengths: The number of counted tokens of each sentence (batch,).
        ranked_lengths: The lengths by rank, without zeros.
    """

    shape: tuple[int, int]
    tokens: Tensor
    slots: Tensor
    batch_sizes: list[int]
    starts: Tensor
    ranks: Tensor
    lengths: Tensor
    ranked_lengths: Tensor

    @classmethod
    def of_mask(cls, counted: Tensor) -> PackedSentences:
        """Pack a mask (batch, length); padding may be on any side or between tokens."""
        lengths = counted.sum(1)
        ranked_lengths, order = lengths.sort(descending=True, stable=True)
        ranks = order.argsort()
        rows, columns = counted.nonzero(as_tuple=True)
        steps = (counted.cumsum(1) - 1)[rows, columns]
        sizes = steps.bincount()
        batch_sizes: list[int] = sizes.tolist()
        sentences = batch_sizes[0] if batch_sizes else 0
        slots, by_step = (steps * sentences + ranks[rows]).sort()
        tokens = (rows * counted.shape[1] + columns)[by_step]
        shape, starts = (counted.shape[0], counted.shape[1]), sizes.cumsum(0) - sizes
        return cls(shape, tokens, slots, batch_sizes, starts, ranks, lengths, ranked_lengths[:sentences])

    @property
    def rank_of_token(self) -> Tensor:
        """The rank of the sentence of each packed token (total,)."""
        return self.slots % self.batch_sizes[0] if self.batch_sizes else self.slots

    def pack(self, values: Tensor) -> Tensor:
        """Pack values (batch, length) to (total,)."""
        return values.flatten()[self.tokens]

    def unpack(self, vectors: Tensor, shown: Tensor | None = None) -> Tensor:
        """Unpack vectors (total, dim) to their tokens (batch, length, dim), with zeros elsewhere.

        `shown` is a mask (batch, length) of more tokens than the counted ones. The vectors are scaled so that their
        mean over the shown tokens is the mean over the counted tokens.
        """
        flat = vectors.new_zeros(self.shape[0] * self.shape[1], vectors.shape[1])
        unpacked = flat.index_copy(0, self.tokens, vectors).unflatten(0, self.shape)
        if shown is None:
            return unpacked
        return unpacked * (shown.sum(1) / self.lengths.clamp_min(1)).view(-1, 1, 1).to(vectors.dtype)

    def mean(self, vectors: Tensor) -> Tensor:
        """Compute the mean of the packed vectors (total, dim) of each sentence (batch, dim); zero without any."""
        return self.by_row(self.pad(vectors).sum(0)) / self.lengths.clamp_min(1).unsqueeze(1).to(vectors.dtype)

    def by_row(self, vectors: Tensor) -> Tensor:
        """Reorder vectors of sentences from ranks to rows (batch, dim); zero without tokens."""
        # Sentences without tokens have the last ranks.
        return functional.pad(vectors, (0, 0, 0, len(self.ranks) - len(vectors)))[self.ranks]

    def last(self, vectors: Tensor) -> Tensor:
        """Return the packed vector (total, dim) of the last token of each sentence (batch, dim); zero without any."""
        ranks = torch.arange(len(self.ranked_lengths), device=self.ranks.device)
        return self.by_row(vectors[self.starts[self.ranked_lengths - 1] + ranks])

    def reversal(self) -> Tensor:
        """Compute the packed index of each token in the reversed sentence (total,)."""
        if not self.batch_sizes:
            return self.slots
        steps = self.slots // self.batch_sizes[0]
        return self.starts[self.ranked_lengths[self.rank_of_token] - 1 - steps] + self.rank_of_token

    def token_increments(self, states: Tensor) -> Tensor:
        """Compute n (h_t - h_{t-1}) for packed states (total, dim) of sentences of n tokens, with h_0 = 0.

        The mean over a sentence is its last state.
        """
        if not self.batch_sizes:
            return states
        steps = states.split(self.batch_sizes)
        previous = [before[: len(now)] for before, now in pairwise(steps)]
        differences = states - torch.cat([torch.zeros_like(steps[0]), *previous])
        return differences * self.ranked_lengths[self.rank_of_token].unsqueeze(1).to(states.dtype)

    def pad(self, vectors: Tensor) -> Tensor:
        """Pad packed vectors (total, dim) with zeros to (steps, sentences with a token, dim)."""
        steps, sentences, dim = len(self.batch_sizes), len(self.ranked_lengths), vectors.shape[1]
        flat = vectors.new_zeros(steps * sentences, dim)
        return flat.index_copy(0, self.slots, vectors).reshape(steps, sentences, dim)

    def unpad(self, vectors: Tensor) -> Tensor:
        """Undo :meth:`pad`."""
        return vectors.flatten(0, 1)[self.slots]

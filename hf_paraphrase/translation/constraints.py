"""What a beam search must keep to: length limits, no unknown unit, no repeated n-gram."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from transformers import LogitsProcessor


@dataclass(frozen=True)
class SearchConstraints:
    """Limits on translations; lengths count the end token on both sides, as in the reference.

    Attributes:
        min_length_ratio: Least length of a translation, as a share of its source's (the reference: 0.5).
        max_length_ratio: Greatest length, in the same way (the reference: 3).
        max_units: Greatest length whatever the source.
        forbid_unknown: Whether the unknown unit is banned.
        no_repeat_ngram_size: If above 0, no run of so many units may come twice in a translation.
    """

    min_length_ratio: float = 0.0
    max_length_ratio: float = 3.0
    max_units: int = 1_000
    forbid_unknown: bool = False
    no_repeat_ngram_size: int = 0

    def longest(self, source_length: int) -> int:
        """Returns the greatest length of a translation, in units with the end token, at least 1."""
        return max(1, min(self.max_units, math.floor(self.max_length_ratio * source_length)))

    def shortest(self, source_length: int) -> int:
        """Returns the least length of a translation, in units with the end token, at most the greatest one."""
        return min(self.longest(source_length), math.floor(self.min_length_ratio * source_length) + 1)


class MinimumLengths(LogitsProcessor):
    """Forbids the end token until a hypothesis has the least length for its own source."""

    def __init__(self, shortest: Sequence[int], num_beams: int, end: int) -> None:
        self.shortest = torch.tensor(shortest).repeat_interleave(num_beams)
        self.end = end

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Returns the scores, (rows, vocabulary), with -inf for an end that would come too early."""
        # `input_ids` have the start token: as long as a hypothesis would be that ends now.
        early = (self.shortest > input_ids.shape[1]).to(scores.device)
        if not bool(early.any()):
            return scores
        limited = scores.clone()
        limited[early, self.end] = -math.inf
        return limited

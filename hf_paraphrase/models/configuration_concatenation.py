"""Configuration of a concatenation of averaging encoders."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .base_configuration import ModelConfig


class ConcatenationConfig(ModelConfig):
    """Configuration of `ConcatenationModel`.

    `vocab_size` is the sum of `vocab_sizes`. `hidden_size`, the dimension of the embedding, is `part_size` times the
    number of parts.

    Args:
        vocab_sizes: The number of token vectors of each part. The parts occupy consecutive ranges of ids.
        part_size: The dimension of the token vectors, the same for all parts.
        part_weights: The weight of each part in the cosine of two sentences, above 0, with any sum; see
            `ConcatenationModel`. None leaves the means as they are.
    """

    model_type = "concatenation"

    vocab_sizes: Sequence[int] = (30_000, 200_000)
    part_size: int = 300
    dropout: float = 0.0
    word_dropout: float = 0.0
    part_weights: Sequence[float] | None = None

    def __post_init__(self, **kwargs: Any) -> None:
        """Compute the derived sizes and check the fields."""
        sizes = self.vocab_sizes = list(self.vocab_sizes)
        if not sizes or min(sizes) < 1 or self.part_size < 1:
            raise ValueError(f"each part needs at least one token vector, not {sizes} of size {self.part_size}")
        if self.part_weights is not None:
            weights = self.part_weights = list(self.part_weights)
            if len(weights) != len(sizes):
                raise ValueError(f"part_weights has {len(weights)} weights for {len(sizes)} parts")
            if not all(0 < weight < math.inf for weight in weights):
                raise ValueError(f"part_weights must be above 0 and finite, not {weights}")
        # Saved for other readers of config.json, and computed again on loading.
        self.vocab_size = kwargs["vocab_size"] = sum(sizes)
        self.hidden_size = kwargs["hidden_size"] = self.part_size * len(sizes)
        super().__post_init__(**kwargs)

"""Configuration of a concatenation of averaging encoders."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from transformers import PreTrainedConfig


class ConcatenationConfig(PreTrainedConfig):
    """Configuration of `ConcatenationModel`.

    `vocab_size` (the sum of `vocab_sizes`) and `hidden_size` (`part_size` times the number of parts, the dimension of
    the embedding) follow from the others.

    Args:
        vocab_sizes: The number of token vectors of each part. The ids of a part follow those of the part before.
        part_size: The dimension of the token vectors, the same for all parts.
        pad_token_id: The id that fills up short sentences of a batch; it never counts.
        dropout: The probability with which a single component of a token vector is dropped in training.
        word_dropout: The probability with which a whole token is dropped in training: its vector is zero, and the mean
            is still taken over all tokens of the part. Excludes `dropout`.
        initializer_range: The standard deviation of the random initial vectors.
        part_weights: The share of each part in the cosine of two sentences, numbers above 0 whose sum does not matter;
            see `ConcatenationModel`. None leaves the means as they are, so that a part counts by its length.
    """

    model_type = "concatenation"

    def __init__(
        self,
        vocab_sizes: Sequence[int] = (30_000, 200_000),
        part_size: int = 300,
        pad_token_id: int | None = 0,
        dropout: float = 0.0,
        word_dropout: float = 0.0,
        initializer_range: float = 0.01,
        part_weights: Sequence[float] | None = None,
        **kwargs: Any,
    ) -> None:
        if not vocab_sizes or min(vocab_sizes) < 1 or part_size < 1:
            raise ValueError(f"each part needs at least one token vector, not {list(vocab_sizes)} of size {part_size}")
        for name, probability in (("dropout", dropout), ("word_dropout", word_dropout)):
            if not 0.0 <= probability < 1.0:
                raise ValueError(f"{name} must be at least 0 and below 1, not {probability}")
        if dropout > 0 and word_dropout > 0:
            raise ValueError("dropout and word_dropout exclude each other: set one of them to 0")
        if part_weights is not None:
            part_weights = list(part_weights)
            if len(part_weights) != len(vocab_sizes):
                raise ValueError(f"part_weights has {len(part_weights)} weights for {len(vocab_sizes)} parts")
            if not all(0 < weight < math.inf for weight in part_weights):
                raise ValueError(f"part_weights must be above 0 and finite, not {part_weights}")
        self.vocab_sizes = list(vocab_sizes)
        self.part_size = part_size
        self.dropout = dropout
        self.word_dropout = word_dropout
        self.initializer_range = initializer_range
        self.part_weights = part_weights
        self.vocab_size = sum(vocab_sizes)
        self.hidden_size = part_size * len(vocab_sizes)
        # They are written to config.json for other readers, and computed again when it is read.
        for derived in ("vocab_size", "hidden_size"):
            kwargs.pop(derived, None)
        super().__init__(pad_token_id=pad_token_id, **kwargs)


ConcatenationConfig.register_for_auto_class()

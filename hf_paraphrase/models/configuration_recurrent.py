"""Configuration of the recurrent sentence encoders."""

from __future__ import annotations

from typing import Any, ClassVar

from .base_configuration import RecurrentLayersConfig


class RecurrentConfig(RecurrentLayersConfig):
    """Configuration of `RecurrentModel`.

    Args:
        embedding_size: The dimension of the word vectors; None means `hidden_size`.
        pooling: The sentence embedding is the `last` state of the network or the `mean` of all its states.
        **kwargs: The settings of `RecurrentLayersConfig`. Each direction has half of `hidden_size` with
            `direction_merge="concat"`, and all of it with `"sum"`. The pooling `last` merges the final states of the
            forward and the backward network.
    """

    model_type = "recurrent"

    choices: ClassVar[dict[str, tuple[str, ...]]] = {**RecurrentLayersConfig.choices, "pooling": ("last", "mean")}

    embedding_size: int | None = None
    pooling: str = "last"

    def __post_init__(self, **kwargs: Any) -> None:
        """Fill in `embedding_size` and check the fields."""
        self.embedding_size = self.hidden_size if self.embedding_size is None else self.embedding_size
        super().__post_init__(**kwargs)
        if self.bidirectional and self.direction_merge == "concat" and self.hidden_size % 2:
            raise ValueError(f"hidden_size must be even for two directions side by side, not {self.hidden_size}")

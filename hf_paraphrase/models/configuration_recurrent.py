"""Configuration of the recurrent sentence encoders."""

from __future__ import annotations

from typing import Any, ClassVar

from .base_configuration import RecurrentLayersConfig


class RecurrentConfig(RecurrentLayersConfig):
    """Configuration of `RecurrentModel`.

    Args:
        embedding_size: The dimension of the word vectors; None: that of the sentence embedding.
        pooling: The sentence embedding is the `last` state of the network or the `mean` of all its states.
        **kwargs: The settings of `RecurrentLayersConfig`; `direction_merge` says how the states of two directions
            become one: `concat`, side by side, each of half of `hidden_size`, or `sum`, each of all of it. The
            pooling `last` takes the final states of the forward and the backward network.
    """

    model_type = "recurrent"

    choices: ClassVar[dict[str, tuple[str, ...]]] = {**RecurrentLayersConfig.choices, "pooling": ("last", "mean")}

    embedding_size: int | None = None
    pooling: str = "last"

    def __post_init__(self, **kwargs: Any) -> None:
        """Fills in `embedding_size` and checks the fields."""
        self.embedding_size = self.hidden_size if self.embedding_size is None else self.embedding_size
        super().__post_init__(**kwargs)
        if self.bidirectional and self.direction_merge == "concat" and self.hidden_size % 2:
            raise ValueError(f"hidden_size must be even for two directions side by side, not {self.hidden_size}")

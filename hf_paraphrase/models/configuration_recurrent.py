"""Configuration of the recurrent sentence encoders."""

from __future__ import annotations

from typing import Any

from .recurrent_configuration import RecurrentLayersConfig, check_choice


class RecurrentConfig(RecurrentLayersConfig):
    """Configuration of `RecurrentModel`.

    Args:
        vocab_size: The number of word vectors.
        hidden_size: The dimension of the sentence embedding.
        embedding_size: The dimension of the word vectors; None: that of the sentence embedding.
        cell: `lstm` (paper 001) or `gru` (that of paper 003).
        pooling: The sentence embedding is the `last` state of the network or the `mean` of all its states.
        **kwargs: The settings of `RecurrentLayersConfig`; `direction_merge` says how the states of two directions
            become one: `concat`, side by side, each of half of `hidden_size`, or `sum`, each of all of it. With the
            pooling `last` they are the states with which each network ends, the one behind the last word and the
            other before the first.
    """

    model_type = "recurrent"

    def __init__(
        self,
        vocab_size: int = 30_000,
        hidden_size: int = 300,
        embedding_size: int | None = None,
        cell: str = "lstm",
        pooling: str = "last",
        **kwargs: Any,
    ) -> None:
        self.embedding_size = hidden_size if embedding_size is None else embedding_size
        self.pooling = pooling
        check_choice("pooling", pooling, ("last", "mean"))
        super().__init__(vocab_size, hidden_size, cell, **kwargs)
        if self.bidirectional and self.direction_merge == "concat" and hidden_size % 2:
            raise ValueError(f"hidden_size must be even for two directions side by side, not {hidden_size}")


RecurrentConfig.register_for_auto_class()

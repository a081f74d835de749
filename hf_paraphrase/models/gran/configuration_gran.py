"""Configuration of the gated recurrent averaging network."""

from __future__ import annotations

from typing import Any

from transformers import PreTrainedConfig

_CELLS = ("lstm", "gru")
_ACTIVATIONS = ("leaky_relu", "tanh")


class GranConfig(PreTrainedConfig):
    """Configuration of `GranModel`.

    Args:
        vocab_size: The number of word vectors.
        hidden_size: Their dimension, that of the recurrent state and that of the sentence embedding: the gate
            multiplies word vectors component by component, so all three must be one.
        cell: `lstm` (paper 000) or `gru` (paper 003).
        candidate_activation: The function f of the GRU's candidate state, `leaky_relu` (paper 003) or `tanh`.
        negative_slope: The slope of the leaky ReLU below zero; the paper is silent, 0.2 is TensorFlow's default.
        pad_token_id: The id that fills up short sentences of a batch; it never counts.
        unk_token_id: The id of unknown words, which have a trained vector and count in the mean.
        dropout: The probability with which a single component of a word vector is dropped in training.
        word_dropout: The probability with which a whole word vector is dropped in training. Excludes `dropout`.
        initializer_range: The standard deviation of the random initial word vectors (`lstm`), or the bound of their
            uniform distribution (`gru`, paper 003 section 3.2).

    Raises:
        ValueError: For an unknown cell or activation, two kinds of dropout at once, or a probability outside [0, 1).
    """

    model_type = "gran"

    def __init__(
        self,
        vocab_size: int = 30_000,
        hidden_size: int = 300,
        cell: str = "lstm",
        candidate_activation: str = "leaky_relu",
        negative_slope: float = 0.2,
        pad_token_id: int | None = 0,
        unk_token_id: int | None = 1,
        dropout: float = 0.0,
        word_dropout: float = 0.0,
        initializer_range: float = 0.01,
        **kwargs: Any,
    ) -> None:
        if cell not in _CELLS:
            raise ValueError(f"cell must be one of {', '.join(_CELLS)}, not {cell!r}")
        if candidate_activation not in _ACTIVATIONS:
            raise ValueError(
                f"candidate_activation must be one of {', '.join(_ACTIVATIONS)}, not {candidate_activation!r}"
            )
        for name, probability in (("dropout", dropout), ("word_dropout", word_dropout)):
            if not 0.0 <= probability < 1.0:
                raise ValueError(f"{name} must be at least 0 and below 1, not {probability}")
        if dropout > 0 and word_dropout > 0:
            raise ValueError("dropout and word_dropout exclude each other: set one of them to 0")
        self.vocab_size = vocab_size
        self.hidden_size = hidden_size
        self.cell = cell
        self.candidate_activation = candidate_activation
        self.negative_slope = negative_slope
        self.unk_token_id = unk_token_id
        self.dropout = dropout
        self.word_dropout = word_dropout
        self.initializer_range = initializer_range
        super().__init__(pad_token_id=pad_token_id, **kwargs)


GranConfig.register_for_auto_class()

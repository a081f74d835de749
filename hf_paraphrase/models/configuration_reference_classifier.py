"""Configuration of the classifier that distinguishes references from translations."""

from __future__ import annotations

from typing import Any

from transformers import PreTrainedConfig

_BODIES = ("avg", "lstm")
_LABELS = {0: "translation", 1: "reference"}


class ReferenceClassifierConfig(PreTrainedConfig):
    """Configuration of `ReferenceClassifier`.

    Args:
        vocab_size: The number of word vectors.
        embedding_size: Their dimension.
        hidden_size: The dimension of the sentence vector; None for that of the word vectors. An average has no other.
        body: `avg`, the mean of the word vectors, or `lstm`, the state of an LSTM behind the last word.
        pad_token_id: The id that fills up short sentences of a batch; it never counts.
        unk_token_id: The id of unknown words, which have a trained vector and count like any other.
        dropout: The probability with which a component of a word vector, or of the sentence vector, is dropped in
            training.
        initializer_range: The standard deviation of the random initial word vectors.
    """

    model_type = "reference_classifier"

    def __init__(
        self,
        vocab_size: int = 30_000,
        embedding_size: int = 300,
        hidden_size: int | None = None,
        body: str = "avg",
        pad_token_id: int | None = 0,
        unk_token_id: int | None = 1,
        dropout: float = 0.0,
        initializer_range: float = 0.1,
        **kwargs: Any,
    ) -> None:
        hidden_size = embedding_size if hidden_size is None else hidden_size
        if body not in _BODIES:
            raise ValueError(f"body must be one of {', '.join(_BODIES)}, not {body!r}")
        if body == "avg" and hidden_size != embedding_size:
            raise ValueError(f"an average of vectors of {embedding_size} components cannot have {hidden_size}")
        if not 0.0 <= dropout < 1.0:
            raise ValueError(f"dropout must be at least 0 and below 1, not {dropout}")
        self.vocab_size = vocab_size
        self.embedding_size = embedding_size
        self.hidden_size = hidden_size
        self.body = body
        self.unk_token_id = unk_token_id
        self.dropout = dropout
        self.initializer_range = initializer_range
        kwargs.setdefault("id2label", dict(_LABELS))
        kwargs.setdefault("label2id", {label: number for number, label in kwargs["id2label"].items()})
        super().__init__(pad_token_id=pad_token_id, **kwargs)
        if self.num_labels != len(_LABELS):
            raise ValueError(f"there are two labels, translation and reference, not {self.num_labels}")


ReferenceClassifierConfig.register_for_auto_class()

"""Configuration of the classifier that distinguishes references from translations."""

from __future__ import annotations

from typing import Any, ClassVar

from .base_configuration import ModelConfig

_LABELS = {0: "translation", 1: "reference"}


class ReferenceClassifierConfig(ModelConfig):
    """Configuration of `ReferenceClassifier`.

    Args:
        hidden_size: The dimension of the sentence vector; None means `embedding_size`, which an average needs.
        body: `avg`, the mean of the word vectors, or `lstm`, the final state of an LSTM.
    """

    model_type = "reference_classifier"

    choices: ClassVar[dict[str, tuple[str, ...]]] = {"body": ("avg", "lstm")}

    vocab_size: int = 30_000
    embedding_size: int = 300
    hidden_size: int | None = None
    body: str = "avg"
    unk_token_id: int | None = 1
    dropout: float = 0.0
    initializer_range: float = 0.1

    def __post_init__(self, **kwargs: Any) -> None:
        """Fill in `hidden_size` and the labels, and check the fields."""
        self.hidden_size = self.embedding_size if self.hidden_size is None else self.hidden_size
        if self.body == "avg" and self.hidden_size != self.embedding_size:
            raise ValueError(
                f"an average of vectors of {self.embedding_size} components cannot have {self.hidden_size}"
            )
        if self.id2label is None:
            self.id2label = dict(_LABELS)
        super().__post_init__(**kwargs)
        if self.num_labels != len(_LABELS):
            raise ValueError(f"there are two labels, translation and reference, not {self.num_labels}")

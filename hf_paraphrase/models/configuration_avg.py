"""Configuration of the word-averaging sentence encoder."""

from __future__ import annotations

from typing import Any, ClassVar

from .base_configuration import ModelConfig


class AvgConfig(ModelConfig):
    """Configuration of `AvgModel`.

    Args:
        hidden_size: The dimension of the word vectors and of the sentence embedding.
        skip_unknown: Leave unknown words out of the mean (Wieting et al. 2019), except in sentences of unknown words
            only. False counts them like any word (Wieting et al. 2017).
        initial_distribution: The distribution of the random initial vectors, `normal` or `uniform`.
        initializer_range: The standard deviation of the normal distribution, or the bound of the uniform one.
        normalize: Always false. It tells model2vec not to normalise the embeddings.
    """

    model_type = "avg"

    choices: ClassVar[dict[str, tuple[str, ...]]] = {"initial_distribution": ("normal", "uniform")}

    vocab_size: int = 30_000
    hidden_size: int = 300
    unk_token_id: int | None = 1
    dropout: float = 0.0
    word_dropout: float = 0.0
    skip_unknown: bool = False
    normalize: bool = False
    initial_distribution: str = "normal"

    def __post_init__(self, **kwargs: Any) -> None:
        """Check the fields."""
        if self.normalize:
            raise ValueError("an Avg model does not normalise: pass normalize=True to encode instead")
        super().__post_init__(**kwargs)

    def to_diff_dict(self) -> dict[str, Any]:
        """Return the saved fields, and `max_length` null: without it model2vec truncates texts to 512 tokens.

        It is no attribute, because transformers reads an attribute of that name as a setting of generation.
        """
        return {**super().to_diff_dict(), "max_length": None}

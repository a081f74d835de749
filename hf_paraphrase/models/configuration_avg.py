"""Configuration of the word-averaging sentence encoder."""

from __future__ import annotations

from typing import Any, ClassVar

from .base_configuration import ModelConfig


class AvgConfig(ModelConfig):
    """Configuration of `AvgModel`.

    Args:
        hidden_size: The dimension of the word vectors and of the sentence embedding.
        skip_unknown: Leave unknown words out of the mean, as sentence encoders over pieces do (Wieting et al. 2019);
            only where a sentence has no other word does their vector count. False counts them like any word, as
            paper 000 does.
        initial_distribution: That of the random initial vectors: `normal`, or `uniform` as in paper 003 (section 3.2).
        initializer_range: Its standard deviation, or the bound of the uniform distribution.
        normalize: Always false: it tells other readers of the folder (model2vec) not to normalise the embeddings.
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
        """Checks the fields."""
        if self.normalize:
            raise ValueError("an Avg model does not normalise: pass normalize=True to encode instead")
        super().__post_init__(**kwargs)

    def to_diff_dict(self) -> dict[str, Any]:
        """Returns the saved fields, and `max_length` null: without it model2vec truncates texts to 512 tokens.

        transformers takes that name for a setting of generation, so it is no attribute here.
        """
        return {**super().to_diff_dict(), "max_length": None}

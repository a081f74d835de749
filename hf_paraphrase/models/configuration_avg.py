"""Configuration of the word-averaging sentence encoder."""

from __future__ import annotations

from typing import Any, ClassVar

from .base_configuration import ModelConfig


class AvgConfig(ModelConfig):
    """Configuration of `AvgModel`.

    Args:
        vocab_size: The number of word vectors.
        hidden_size: Their dimension, which is also that of the sentence embedding.
        unk_token_id: The id of unknown words, which have a trained vector and count in the mean.
        skip_unknown: Leave unknown words out of the mean, as sentence encoders over pieces do (Wieting et al. 2019);
            only where a sentence has no other word does their vector count. False counts them like any word, as
            paper 000 does.
        dropout: The probability with which a single component of a word vector is dropped in training.
        word_dropout: The probability with which a whole word is dropped in training: its vector is zero, and the mean
            is still taken over all words. Excludes `dropout`.
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
        """Returns what is saved: with `max_length` null, without which model2vec cuts texts off at 512 tokens.

        transformers takes that name for a setting of generation, so it is no attribute here.
        """
        return {**super().to_diff_dict(), "max_length": None}


AvgConfig.register_for_auto_class()

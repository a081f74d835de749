"""Configuration of the word-averaging sentence encoder."""

from __future__ import annotations

from typing import Any

from transformers import PreTrainedConfig

_DISTRIBUTIONS = ("normal", "uniform")


class AvgConfig(PreTrainedConfig):
    """Configuration of `AvgModel`.

    Args:
        vocab_size: The number of word vectors.
        hidden_size: Their dimension, which is also that of the sentence embedding.
        pad_token_id: The id that fills up short sentences of a batch; it never counts.
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

    def __init__(
        self,
        vocab_size: int = 30_000,
        hidden_size: int = 300,
        pad_token_id: int | None = 0,
        unk_token_id: int | None = 1,
        dropout: float = 0.0,
        word_dropout: float = 0.0,
        initializer_range: float = 0.01,
        skip_unknown: bool = False,
        normalize: bool = False,
        initial_distribution: str = "normal",
        **kwargs: Any,
    ) -> None:
        if initial_distribution not in _DISTRIBUTIONS:
            allowed = ", ".join(_DISTRIBUTIONS)
            raise ValueError(f"initial_distribution must be one of {allowed}, not {initial_distribution!r}")
        for name, probability in (("dropout", dropout), ("word_dropout", word_dropout)):
            if not 0.0 <= probability < 1.0:
                raise ValueError(f"{name} must be at least 0 and below 1, not {probability}")
        if dropout > 0 and word_dropout > 0:
            raise ValueError("dropout and word_dropout exclude each other: set one of them to 0")
        if skip_unknown and unk_token_id is None:
            raise ValueError("skip_unknown needs an unk_token_id")
        if normalize:
            raise ValueError("an Avg model does not normalise: pass normalize=True to encode instead")
        self.vocab_size = vocab_size
        self.hidden_size = hidden_size
        self.unk_token_id = unk_token_id
        self.skip_unknown = skip_unknown
        self.dropout = dropout
        self.word_dropout = word_dropout
        self.initial_distribution = initial_distribution
        self.initializer_range = initializer_range
        self.normalize = normalize
        super().__init__(pad_token_id=pad_token_id, **kwargs)

    def to_diff_dict(self) -> dict[str, Any]:
        """Returns what is saved: with `max_length` null, without which model2vec cuts texts off at 512 tokens.

        transformers takes that name for a setting of generation, so it is no attribute here.
        """
        return {**super().to_diff_dict(), "max_length": None}


AvgConfig.register_for_auto_class()

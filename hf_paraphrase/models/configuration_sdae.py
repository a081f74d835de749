"""Configuration of the sequential denoising autoencoder."""

from __future__ import annotations

from typing import Any, ClassVar

from .base_configuration import ModelConfig


class SdaeConfig(ModelConfig):
    """Configuration of `SdaeModel`; sizes as in the reference code of Hill, Cho and Korhonen (2016).

    Args:
        hidden_size: The dimension of the states of encoder and decoder, and of the sentence embedding.
        readout_size: The dimension of a linear layer before the output layer, which makes it cheaper. None
            means no such layer, as in the reference code.
        has_decoder: Whether the model has a decoder. Without one the model only encodes and has no loss.
        share_embeddings: Whether the decoder shares the word vectors of the encoder.
        initialization: `reference` (recurrent and square matrices orthogonal, the rest N(0, `initializer_range`)) or
            `xavier` (recurrent matrices orthogonal, the rest Xavier uniform for each gate).
        initializer_range: The standard deviation of random word vectors, and of matrices (see `initialization`).
        pad_token_id: The id of padding. The decoder reads it as the end of the sentence, as in the reference code.
        skip_unknown: Whether unknown words are left out, except in sentences of unknown words only.
    """

    model_type = "sdae"

    choices: ClassVar[dict[str, tuple[str, ...]]] = {"initialization": ("reference", "xavier")}

    vocab_size: int = 30_000
    hidden_size: int = 2400
    embedding_size: int = 100
    readout_size: int | None = None
    has_decoder: bool = True
    share_embeddings: bool = True
    initialization: str = "reference"
    unk_token_id: int | None = 1
    skip_unknown: bool = False

    def __post_init__(self, **kwargs: Any) -> None:
        """Check the fields."""
        if self.pad_token_id is None:
            raise ValueError("pad_token_id is needed: for the decoder it is the end of a sentence")
        super().__post_init__(**kwargs)

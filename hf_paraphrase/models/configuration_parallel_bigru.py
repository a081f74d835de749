"""Configuration of the classifier of parallel sentences."""

from __future__ import annotations

from typing import ClassVar

from .base_configuration import ModelConfig


class ParallelBiGruConfig(ModelConfig):
    """Configuration of `ParallelBiGruModel`; with the sizes of Grégoire and Langlais (2017) as defaults.

    Args:
        source_vocab_size: The number of word vectors of the source language; 126,000 to 140,000 in the paper.
        target_vocab_size: The same for the target language; 103,000 to 119,000 in the paper.
        embedding_size: The dimension of the word vectors of both languages.
        hidden_size: The dimension of the recurrent state in each direction; a sentence vector is twice as long.
        score_layer: `bilinear`, sigmoid(h_S' M h_T + b) (equation 1), or `product_difference`, a hidden layer with
            tanh over the product and the absolute difference of the sentence vectors (the authors' later code).
        score_hidden_size: The size of that hidden layer.
        share_rnn: Whether both languages share the recurrent weights, as in the authors' later code.
        source_lang: The language code of the source, for model cards.
        target_lang: The language code of the target.
    """

    model_type = "parallel_bigru"
    attribute_map: ClassVar[dict[str, str]] = {"vocab_size": "source_vocab_size"}

    choices: ClassVar[dict[str, tuple[str, ...]]] = {"score_layer": ("bilinear", "product_difference")}

    source_vocab_size: int = 140_000
    target_vocab_size: int = 119_000
    embedding_size: int = 300
    hidden_size: int = 200
    score_layer: str = "bilinear"
    score_hidden_size: int = 128
    share_rnn: bool = False
    unk_token_id: int | None = 1
    dropout: float = 0.0
    initializer_range: float = 0.1
    source_lang: str | None = None
    target_lang: str | None = None

"""Configuration of the classifier of parallel sentences."""

from __future__ import annotations

from typing import ClassVar

from .base_configuration import ModelConfig


class ParallelBiGruConfig(ModelConfig):
    """Configuration of `ParallelBiGruModel`; the defaults are the sizes of paper 002, sections 3.1 and 3.2.

    Args:
        source_vocab_size: The number of word vectors of the source language. The paper's has 126,000 to 140,000 words,
            the most where digits are kept.
        target_vocab_size: The same for the target language; the paper's has 103,000 to 119,000.
        embedding_size: The dimension of the word vectors of both languages.
        hidden_size: The dimension of the recurrent state in each direction; a sentence vector is twice as long.
        score_layer: `bilinear`, sigmoid(h_S' M h_T + b) (the paper's equation 1), or `product_difference`, a hidden
            layer with tanh over the product and the absolute difference of the sentence vectors (the authors' later
            code).
        score_hidden_size: The size of that hidden layer.
        share_rnn: Whether both languages are read by the same recurrent weights (the authors' later code). The paper
            says that the network is "built for both" with separate vocabularies, which is taken to mean two networks.
        source_lang: Language code of the source side, for cards; `target_lang` is that of the other.
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

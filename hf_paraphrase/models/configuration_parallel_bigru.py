"""Configuration of the classifier of parallel sentences."""

from __future__ import annotations

from typing import Any

from transformers import PreTrainedConfig

_SCORE_LAYERS = ("bilinear", "product_difference")


class ParallelBiGruConfig(PreTrainedConfig):
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
        pad_token_id: The id that fills up short sentences of a batch, in both languages; it never counts.
        unk_token_id: The id of unknown words in both languages, which have a trained vector.
        dropout: The probability with which a component of a word vector or of a sentence vector is dropped in
            training; the paper drops nothing.
        initializer_range: The standard deviation of the random initial word vectors.
        source_lang: Language code of the source side, for cards.
        target_lang: Language code of the target side.
    """

    model_type = "parallel_bigru"

    def __init__(
        self,
        source_vocab_size: int = 140_000,
        target_vocab_size: int = 119_000,
        embedding_size: int = 300,
        hidden_size: int = 200,
        score_layer: str = "bilinear",
        score_hidden_size: int = 128,
        share_rnn: bool = False,
        pad_token_id: int | None = 0,
        unk_token_id: int | None = 1,
        dropout: float = 0.0,
        initializer_range: float = 0.1,
        source_lang: str | None = None,
        target_lang: str | None = None,
        **kwargs: Any,
    ) -> None:
        if score_layer not in _SCORE_LAYERS:
            raise ValueError(f"score_layer must be one of {', '.join(_SCORE_LAYERS)}, not {score_layer!r}")
        if not 0.0 <= dropout < 1.0:
            raise ValueError(f"dropout must be at least 0 and below 1, not {dropout}")
        self.source_vocab_size = source_vocab_size
        self.target_vocab_size = target_vocab_size
        self.embedding_size = embedding_size
        self.hidden_size = hidden_size
        self.score_layer = score_layer
        self.score_hidden_size = score_hidden_size
        self.share_rnn = share_rnn
        self.unk_token_id = unk_token_id
        self.dropout = dropout
        self.initializer_range = initializer_range
        self.source_lang = source_lang
        self.target_lang = target_lang
        super().__init__(pad_token_id=pad_token_id, **kwargs)


ParallelBiGruConfig.register_for_auto_class()

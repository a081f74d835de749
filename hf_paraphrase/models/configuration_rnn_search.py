"""Configuration of the RNNsearch translation model."""

from __future__ import annotations

from typing import Any, ClassVar

from .base_configuration import ModelConfig


class RnnSearchConfig(ModelConfig):
    """Configuration of an RNNsearch model, with the sizes of Bahdanau et al. (2015) as defaults.

    Args:
        vocab_size: Number of target subwords.
        source_vocab_size: Number of source subwords; None means `vocab_size`.
        embedding_size: Size of the word embeddings on both sides, and of the low-rank output layer.
        hidden_size: Size of the GRU states; an annotation is twice as long (both directions).
        attention_size: Size of the alignment model's hidden layer; None means `hidden_size`.
        readout_size: Size of the readout before maxout halves it; None means `hidden_size`.
        dropout: Rate on embeddings, annotations and readout while training (the paper uses none).
        label_smoothing: Share of the probability mass spread over the vocabulary in the training loss.
        tie_word_embeddings: Whether the output matrix is the target embedding matrix.
        share_embeddings: Whether source and target share the embedding matrix, which needs a joint vocabulary.
        initialization: `reference` (recurrent matrices orthogonal, the rest small normal) or `xavier` (recurrent
            matrices orthogonal, the rest Glorot uniform, embeddings N(0, 1/embedding_size)). `xavier` learns to attend
            within hundreds instead of thousands of updates.
        initializer_range: Standard deviation of most matrices in the reference's initialisation.
        attention_initializer_range: The same for the two matrices of the alignment model. Its vector starts at zero.
        lowercase: Whether the model was trained on lower-cased text. Its tokenizer lower-cases by itself.
        source_lang: Language code of the source, for cards and provenance.
        target_lang: Language code of the target.
    """

    model_type = "rnn_search"
    keys_to_ignore_at_inference = ["past_key_values", "encoder_last_hidden_state"]  # noqa: RUF012

    choices: ClassVar[dict[str, tuple[str, ...]]] = {"initialization": ("reference", "xavier")}

    vocab_size: int = 30_000
    source_vocab_size: int | None = None
    embedding_size: int = 620
    hidden_size: int = 1000
    attention_size: int | None = None
    readout_size: int | None = None
    dropout: float = 0.0
    label_smoothing: float = 0.0
    share_embeddings: bool = False
    tie_word_embeddings: bool = False
    initialization: str = "reference"
    attention_initializer_range: float = 0.001
    lowercase: bool = False
    source_lang: str | None = None
    target_lang: str | None = None

    bos_token_id: int | None = 1
    eos_token_id: int | list[int] | None = 2
    decoder_start_token_id: int | None = 1
    is_encoder_decoder: bool = True
    use_cache: bool = True

    def __post_init__(self, **kwargs: Any) -> None:
        """Fill in the sizes that follow from others and check that all fit together."""
        self.attention_size = self.attention_size or self.hidden_size
        self.readout_size = self.readout_size or self.hidden_size
        self.source_vocab_size = self.source_vocab_size or self.vocab_size
        if self.readout_size % 2:
            raise ValueError(f"readout_size={self.readout_size} must be even: maxout halves it")
        if self.share_embeddings and not (self.tie_word_embeddings and self.source_vocab_size == self.vocab_size):
            raise ValueError("share_embeddings=True needs tie_word_embeddings=True and one vocabulary for both sides")
        super().__post_init__(**kwargs)

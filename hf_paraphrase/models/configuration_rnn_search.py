"""Configuration of the RNNsearch translation model."""

from __future__ import annotations

from typing import Any, ClassVar

from .base_configuration import ModelConfig


class RnnSearchConfig(ModelConfig):
    """Sizes and settings of an RNNsearch model; the defaults are those of paper 000 §3 (Bahdanau et al. 2015).

    Args:
        vocab_size: Number of target units; also of source units unless `source_vocab_size` is given.
        source_vocab_size: Number of source units where the sides have separate vocabularies.
        embedding_size: Size of the word embeddings on both sides, and of the low-rank output layer.
        hidden_size: Size of the GRU states; an annotation is twice as long (both directions).
        attention_size: Size of the alignment model's hidden layer; `hidden_size` if not given, as for `readout_size`,
            that of the readout before maxout halves it.
        dropout: Rate on embeddings, annotations and readout while training (the paper uses none).
        label_smoothing: Share of the probability mass spread over the vocabulary in the training loss.
        tie_word_embeddings: Whether the output matrix is the target embedding matrix.
        share_embeddings: Whether the source embedding matrix is that same one too (needs a joint vocabulary).
        initialization: `reference` (recurrent matrices orthogonal, the rest small normal) or `xavier` (recurrent
            matrices orthogonal, the rest Glorot uniform, embeddings N(0, 1/embedding_size)), which learns to attend
            within hundreds instead of thousands of updates.
        initializer_range: Standard deviation of most matrices in the reference's initialisation.
        attention_initializer_range: The same for the alignment model's two matrices, whose vector starts at zero.
        lowercase: Whether the model was trained on lower-cased text (its tokenizer lower-cases by itself).
        source_lang: Language code of the source side, for cards and provenance; `target_lang` is that of the other.
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
        """Fills in the sizes that follow from others and checks that all fit together."""
        self.attention_size = self.attention_size or self.hidden_size
        self.readout_size = self.readout_size or self.hidden_size
        self.source_vocab_size = self.source_vocab_size or self.vocab_size
        if self.readout_size % 2:
            raise ValueError(f"readout_size={self.readout_size} must be even: maxout takes the larger of each two")
        if self.share_embeddings and not (self.tie_word_embeddings and self.source_vocab_size == self.vocab_size):
            raise ValueError("share_embeddings=True needs tie_word_embeddings=True and one vocabulary for both sides")
        super().__post_init__(**kwargs)

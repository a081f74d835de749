"""Sentence encoders: trained on pairs with a margin loss, and put to use.

Pairs of sentences go in, an encoder comes out: `train` is the recipe, `trainer` the Trainer below it (paper 000,
section 4.2), `kinds` and `losses` what can be trained and with what. From the
encoders of others and plain text one comes out, too: `distillation`; and `join` puts averages side by side. Texts go
in, embeddings come out: `sentence_encoder` opens every encoder, as `static_tables`, `pooled_transformer` or
`onnx_encoder`.
"""

from __future__ import annotations

from ..registry import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "distillation": ["DistillationTrainer", "DistillationTrainingArguments"],
        "encoded_pairs": ["EncodedPairs", "encode_pairs"],
        "encoder_vocabulary": ["EncoderVocabulary", "word_level_vocabulary"],
        "architectures": ["Architecture", "new_encoder"],
        "losses": ["ContrastiveLoss", "MarginLoss", "RankingLoss"],
        "negatives": ["mine_hard_negatives"],
        "sentence_encoder": ["SentenceEncoder"],
        "train": ["train_encoder"],
        "trainer": ["EncoderTrainer", "EncoderTrainingArguments"],
    },
)

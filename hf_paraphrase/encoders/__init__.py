"""Sentence encoders: trained on pairs with a margin loss, and put to use.

Pairs of sentences go in, an encoder comes out: `train` is the recipe, `trainer` the Trainer below it (paper 000,
section 4.2), `kinds` and `losses` what can be trained and with what. From the
encoders of others and plain text one comes out, too: `distillation`; and `join` puts averages side by side. Texts go
in, embeddings come out: `sentence_encoder` opens every encoder, as `static_tables`, `pooled_transformer` or
`onnx_encoder`; `nearest_neighbours` compares them, for the whole package.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..registry import lazy_exports

if TYPE_CHECKING:
    from .distillation import DistillationTrainer, DistillationTrainingArguments
    from .encoded_pairs import EncodedPairs, encode_pairs
    from .encoder_vocabulary import EncoderVocabulary, word_level_vocabulary
    from .join import join_encoders
    from .kinds import EncoderKind, new_encoder
    from .losses import ContrastiveLoss, MarginLoss, RankingLoss
    from .negatives import mine_hard_negatives
    from .sentence_encoder import SentenceEncoder
    from .train import train_encoder
    from .trainer import EncoderTrainer, EncoderTrainingArguments

__getattr__, __dir__, __all__ = lazy_exports(__name__)

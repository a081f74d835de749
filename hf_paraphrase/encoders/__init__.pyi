# Written by scripts/documentation/stubs.py; run it after a change of public names or settings.

from hf_paraphrase import train_encoder

from .architectures import Architecture, new_encoder
from .distillation import DistillationTrainer, DistillationTrainingArguments
from .encoded_pairs import EncodedPairs, encode_pairs
from .losses import (
    ContrastiveLoss,
    CosentLoss,
    MarginLoss,
    MatryoshkaLoss,
    RankingLoss,
    SymmetricRankingLoss,
    TripletLoss,
)
from .negatives import mine_hard_negatives
from .sentence_encoder import SentenceEncoder
from .trainer import EncoderTrainer, EncoderTrainingArguments

__all__ = [
    "Architecture",
    "ContrastiveLoss",
    "CosentLoss",
    "DistillationTrainer",
    "DistillationTrainingArguments",
    "EncodedPairs",
    "EncoderTrainer",
    "EncoderTrainingArguments",
    "MarginLoss",
    "MatryoshkaLoss",
    "RankingLoss",
    "SentenceEncoder",
    "SymmetricRankingLoss",
    "TripletLoss",
    "encode_pairs",
    "mine_hard_negatives",
    "new_encoder",
    "train_encoder",
]

"""Sentence encoders: opened, used and trained.

Texts go in and embeddings come out of `sentence_encoder`, over one of the `backends`. Pairs of sentences go in and an
encoder comes out of `train`, by the Trainer in `trainer`; `architectures` and `losses` say what is trained and how.
`distillation` trains an encoder on plain text and other encoders, and `join` puts averages side by side. Start
reading at `sentence_encoder`.
"""

from __future__ import annotations

from ..registry import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "distillation": ["DistillationTrainer", "DistillationTrainingArguments"],
        "encoded_pairs": ["EncodedPairs", "encode_pairs"],
        "architectures": ["Architecture", "new_encoder"],
        "losses": [
            "ContrastiveLoss",
            "CosentLoss",
            "MarginLoss",
            "MatryoshkaLoss",
            "RankingLoss",
            "SymmetricRankingLoss",
            "TripletLoss",
        ],
        "negatives": ["mine_hard_negatives"],
        "sentence_encoder": ["SentenceEncoder"],
        "train": ["train_encoder"],
        "trainer": ["EncoderTrainer", "EncoderTrainingArguments"],
    },
)

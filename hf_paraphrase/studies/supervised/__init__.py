"""Encoders trained with a head on classes or scores of sentences or pairs (paper 001, sections 4.5 and 5).

`tasks` reads the examples, `trainer` trains, and `SentenceJudge` applies what was trained. The verbs are
`train-supervised` and `predict`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...lazy import lazy_exports

if TYPE_CHECKING:
    from .sentence_classification import SentenceJudge
    from .trainer import SupervisedTrainer, SupervisedTrainingArguments

__getattr__, __dir__, __all__ = lazy_exports(__name__)

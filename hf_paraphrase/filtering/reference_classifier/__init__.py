"""A classifier that tells references from translations (paper 000, section 5.3): its examples, training and scores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...lazy import lazy_exports

if TYPE_CHECKING:
    from .classifier_trainer import ClassifierTrainer, ClassifierTrainingArguments
    from .reference_classification import ReferenceScorer

__getattr__, __dir__, __all__ = lazy_exports(__name__)

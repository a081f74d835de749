"""A classifier that tells references from translations (paper 000, section 5.3).

References and translations of a back-translated corpus go in (`reference_lists`, `reference_examples`), a classifier
is trained (`classifier_trainer`), and the measure `reference_probability` asks it (`reference_classification`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...lazy import lazy_exports

if TYPE_CHECKING:
    from .classifier_trainer import ClassifierTrainer, ClassifierTrainingArguments
    from .reference_classification import ReferenceScorer

__getattr__, __dir__, __all__ = lazy_exports(__name__)

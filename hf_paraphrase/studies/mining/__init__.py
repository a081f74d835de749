"""Parallel sentences in two monolingual collections (paper 002): candidates, scores, decisions, measures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...lazy import lazy_exports

if TYPE_CHECKING:
    from .parallel_classification import ParallelClassifier
    from .parallel_trainer import ParallelTrainer, ParallelTrainingArguments

__getattr__, __dir__, __all__ = lazy_exports(__name__)

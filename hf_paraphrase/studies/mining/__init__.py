"""Parallel sentences in two monolingual collections (paper 002): candidates, scores, decisions and their measures.

Two collections of sentences go in; `candidates` finds the nearest targets of every source, `scoring` scores the pairs,
`matching` decides, and `study` measures against known pairs. The verbs are `mine`, `evaluate-mining`,
`train-bilingual-vectors` and `train-parallel-classifier`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...lazy import lazy_exports

if TYPE_CHECKING:
    from .parallel_classification import ParallelClassifier
    from .parallel_trainer import ParallelTrainer, ParallelTrainingArguments

__getattr__, __dir__, __all__ = lazy_exports(__name__)

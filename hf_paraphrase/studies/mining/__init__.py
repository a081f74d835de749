"""Parallel sentences in two monolingual collections (paper 002).

`evaluation` measures what the scores and decisions of `mine` are worth where the pairs are known; `comparable` makes
such a task. `bilingual_training` and `parallel_training` train the encoder and the classifier of the paper.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...registry import lazy_exports

if TYPE_CHECKING:
    from .parallel_classification import ParallelClassifier

__getattr__, __dir__, __all__ = lazy_exports(__name__)

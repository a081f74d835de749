"""Parallel sentences in two monolingual collections (paper 002).

Two collections go in, the pairs that are translations of each other come out: `run` finds the nearest targets of
every source, scores the pairs and decides. Start with `mined_pairs`, the recipe of `mine`;
`evaluation` measures against known pairs. `bilingual_training` and `parallel_training` train what finds and scores.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...registry import lazy_exports

if TYPE_CHECKING:
    from .parallel_classification import ParallelClassifier

__getattr__, __dir__, __all__ = lazy_exports(__name__)

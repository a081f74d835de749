"""Classifiers and scorers: a head on any sentence encoder, for one sentence or a pair, and cross-encoders.

Labelled data and an encoder go in, a model folder comes out. Start with `train` (the commands `train-supervised` and
`train-classifier`) and `predict`.
"""

from __future__ import annotations

from ..registry import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "classifier": ["CrossEncoder", "ReferenceScorer", "SentenceClassifierModel"],
        "parallel_classifier": ["ParallelClassifier"],
    },
)

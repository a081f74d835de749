# Written by scripts/documentation/stubs.py; run it after a change of public names or settings.

from .classifier import CrossEncoder, ReferenceScorer, SentenceClassifierModel
from .parallel_classifier import ParallelClassifier

__all__ = ["CrossEncoder", "ParallelClassifier", "ReferenceScorer", "SentenceClassifierModel"]

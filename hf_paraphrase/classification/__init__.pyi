# Written by scripts/documentation/stubs.py; run it after a change of public names or settings.

from .parallel_classifier import ParallelClassifier
from .sentence_classifier import SentenceJudge

__all__ = ["ParallelClassifier", "SentenceJudge"]

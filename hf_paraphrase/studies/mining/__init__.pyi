# Written by scripts/documentation/stubs.py; run it after a change of public names or settings.

from .parallel_classification import ParallelClassifier

__all__ = ["ParallelClassifier"]

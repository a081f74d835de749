"""The built-in sample: a French–English bitext and a graded similarity set, written from the project's own grammar."""

from __future__ import annotations

from .bitext import SamplePair, sample_bitext
from .similarity import GradedPair, sample_similarity

__all__ = ["GradedPair", "SamplePair", "sample_bitext", "sample_similarity"]

# Written by scripts/documentation/stubs.py; run it after a change of public names or settings.

from .sentence_classifier import SentenceJudge

__all__ = ["SentenceJudge"]

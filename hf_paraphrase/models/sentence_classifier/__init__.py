"""Heads on sentence encoders: classes and scores of sentences and of sentence pairs (paper 001)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...lazy import lazy_attributes

if TYPE_CHECKING:
    from .configuration_sentence_classifier import SentenceClassifierConfig as SentenceClassifierConfig
    from .modeling_sentence_classifier import SentenceClassifier as SentenceClassifier

_MODULE_OF = {
    "SentenceClassifierConfig": ".configuration_sentence_classifier",
    "SentenceClassifier": ".modeling_sentence_classifier",
}

__all__ = ["SentenceClassifier", "SentenceClassifierConfig"]
__getattr__, __dir__ = lazy_attributes(__name__, _MODULE_OF)

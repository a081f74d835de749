"""The reference classifier: is a sentence human or machine (paper 000, section 5.6.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...lazy import lazy_attributes

if TYPE_CHECKING:
    from .configuration_reference_classifier import ReferenceClassifierConfig as ReferenceClassifierConfig
    from .modeling_reference_classifier import ReferenceClassifier as ReferenceClassifier

_MODULE_OF = {
    "ReferenceClassifierConfig": ".configuration_reference_classifier",
    "ReferenceClassifier": ".modeling_reference_classifier",
}

__all__ = ["ReferenceClassifier", "ReferenceClassifierConfig"]
__getattr__, __dir__ = lazy_attributes(__name__, _MODULE_OF)

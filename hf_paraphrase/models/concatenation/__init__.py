"""Concatenation: the means of several kinds of token vectors side by side, e.g. of words and of character trigrams."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...lazy import lazy_attributes

if TYPE_CHECKING:
    from .configuration_concatenation import ConcatenationConfig as ConcatenationConfig
    from .modeling_concatenation import ConcatenationModel as ConcatenationModel
    from .tokenization_concatenation import ConcatenationTokenizer as ConcatenationTokenizer

_MODULE_OF = {
    "ConcatenationConfig": ".configuration_concatenation",
    "ConcatenationModel": ".modeling_concatenation",
    "ConcatenationTokenizer": ".tokenization_concatenation",
}

__all__ = ["ConcatenationConfig", "ConcatenationModel", "ConcatenationTokenizer"]
__getattr__, __dir__ = lazy_attributes(__name__, _MODULE_OF)

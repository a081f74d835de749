"""Avg: the mean of word vectors (paper 000, section 4.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...lazy import lazy_attributes

if TYPE_CHECKING:
    from .configuration_avg import AvgConfig as AvgConfig
    from .modeling_avg import AvgModel as AvgModel

_MODULE_OF = {"AvgConfig": ".configuration_avg", "AvgModel": ".modeling_avg"}

__all__ = ["AvgConfig", "AvgModel"]
__getattr__, __dir__ = lazy_attributes(__name__, _MODULE_OF)

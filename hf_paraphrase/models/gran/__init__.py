"""GRAN: the gated recurrent averaging network (papers 000 and 003)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...lazy import lazy_attributes

if TYPE_CHECKING:
    from .configuration_gran import GranConfig as GranConfig
    from .modeling_gran import GranModel as GranModel

_MODULE_OF = {"GranConfig": ".configuration_gran", "GranModel": ".modeling_gran"}

__all__ = ["GranConfig", "GranModel"]
__getattr__, __dir__ = lazy_attributes(__name__, _MODULE_OF)

"""Former module of the classifiers: model cards of version 0.2 import from it."""

from __future__ import annotations

from ..registry import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(__name__, {})

"""What the gates of an encoder pass on (paper 001): values by word, part of speech and dependency label."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...lazy import lazy_exports

if TYPE_CHECKING:
    from .gate_analysis import GateAnalysis, analyze_gates

__getattr__, __dir__, __all__ = lazy_exports(__name__)

"""What the gates of an encoder pass on (paper 001, section 6).

An encoder and texts go in; the values of its gates by word, part of speech and dependency label come out as tables
and plots (`gate_report`, `gate_plots`). `analyze_gates` does it all; the verb is `analyze gates`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...lazy import lazy_exports

if TYPE_CHECKING:
    from .gate_analysis import GateAnalysis, analyze_gates

__getattr__, __dir__, __all__ = lazy_exports(__name__)

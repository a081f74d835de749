"""Corpus statistics and plots of the papers, one idea a file.

`analyze_gates` shows what the gates of an encoder pass on; the verb `analyze` writes this and the other reports.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy_attributes

if TYPE_CHECKING:
    from .gate_analysis import GateAnalysis as GateAnalysis
    from .gate_analysis import analyze_gates as analyze_gates

_MODULE_OF = {
    "GateAnalysis": ".gate_analysis",
    "analyze_gates": ".gate_analysis",
}

__all__ = [*_MODULE_OF]


__getattr__, __dir__ = lazy_attributes(__name__, _MODULE_OF)

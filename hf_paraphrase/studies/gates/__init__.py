"""What the gates of a GRAN let into the sentence (paper 001, "Analyzing GRAN Gates").

An encoder and texts go in, plain or tagged; means of its gates by word, part of speech, dependency label and position
come out, as tables and plots. Start with `analysis`, the recipe of `analyze gates`; `measure_gates` gives the numbers
alone. The tagger of plain text is that of `expansion`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...registry import lazy_exports

if TYPE_CHECKING:
    from .analysis import GateAnalysisSettings, analyze_gates
    from .gate_report import GateAnalysis, measure_gates

__getattr__, __dir__, __all__ = lazy_exports(__name__)

"""`analyze gates`: which words a GRAN lets into the sentence, as a report with tables and plots (paper 001)."""

from __future__ import annotations

from collections.abc import Sequence

from ..studies.gates.analysis import GateAnalysisSettings, analyze_gates
from .arguments import parse


def main(argv: Sequence[str]) -> None:
    """Runs the verb."""
    analyze_gates.run(parse(GateAnalysisSettings, "analyze gates", argv))

"""`analyze pairs`: how translations differ from references, as a report with tables and plots."""

from __future__ import annotations

from collections.abc import Sequence

from ..studies.analysis.pairs import PairAnalysisSettings, analyze_pairs
from .arguments import parse


def main(argv: Sequence[str]) -> None:
    """Runs the verb."""
    analyze_pairs.run(parse(PairAnalysisSettings, "analyze pairs", argv))

"""`analyze human-scores`: what encoders make of sentence pairs that people scored."""

from __future__ import annotations

from collections.abc import Sequence

from ..studies.detection.score_comparison import HumanScoreSettings, analyze_human_scores
from .arguments import parse


def main(argv: Sequence[str]) -> None:
    """Runs the verb."""
    analyze_human_scores.run(parse(HumanScoreSettings, "analyze human-scores", argv))

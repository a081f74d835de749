"""`analyze similarities`: how the similarities of a sentence to all sentences of a text are distributed."""

from __future__ import annotations

from collections.abc import Sequence

from ..studies.detection.similarities import SimilaritySettings, analyze_similarities
from .arguments import parse


def main(argv: Sequence[str]) -> None:
    """Runs the verb."""
    analyze_similarities.run(parse(SimilaritySettings, "analyze similarities", argv))

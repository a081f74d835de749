"""`analyze neighbours`: the sentences nearest to some queries under several models, side by side."""

from __future__ import annotations

from collections.abc import Sequence

from ..studies.detection.neighbours import NeighbourSettings, analyze_neighbours
from .arguments import parse


def main(argv: Sequence[str]) -> None:
    """Runs the verb."""
    analyze_neighbours.run(parse(NeighbourSettings, "analyze neighbours", argv))

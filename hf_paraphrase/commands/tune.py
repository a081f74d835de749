"""`tune`: trains encoders on many selections of pairs and chooses the best on the dev set."""

from __future__ import annotations

from collections.abc import Sequence

from ..filtering.tuning.grid_search import tune
from ..messages import show
from .arguments import parse


def main(argv: Sequence[str]) -> None:
    """Runs the verb."""
    show(tune.run(parse(tune.settings, "tune", argv)).table)

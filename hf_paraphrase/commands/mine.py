"""`mine`: the pairs of sentences of two collections that are translations of each other."""

from __future__ import annotations

from collections.abc import Sequence

from ..messages import show
from ..studies.mining.mined_pairs import mine
from ..studies.mining.mining_settings import MiningSettings
from ..studies.mining.report import measures_table
from .arguments import parse


def main(argv: Sequence[str]) -> None:
    """Runs the verb."""
    mined = mine.run(parse(MiningSettings, "mine", argv))
    if mined.measures is not None:
        show(measures_table(mined.threshold, mined.measures))

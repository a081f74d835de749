"""`evaluate-mining`: what candidates, scores and decisions of `mine` are worth, on a task with known pairs."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from ..studies.mining.evaluation import MiningEvaluationSettings, evaluate_mining
from .arguments import parse


def main(argv: Sequence[str]) -> None:
    """Runs the verb."""
    settings = parse(MiningEvaluationSettings, "evaluate-mining", argv)
    tables = evaluate_mining.run(settings).tables
    if settings.pairs:
        sys.stdout.write("".join(tables.values()))
        return
    for title, table in tables.items():
        sys.stdout.write(f"{title}\n\n{table}\n")

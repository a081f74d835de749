"""`evaluate-mining`: what candidates, scores and decisions of `mine` are worth, on a task with known pairs."""

from __future__ import annotations

from collections.abc import Sequence

from ..messages import show
from ..studies.mining.evaluation import MiningEvaluationSettings, evaluate_mining
from .arguments import parse


def main(argv: Sequence[str]) -> None:
    """Runs the verb."""
    settings = parse(MiningEvaluationSettings, "evaluate-mining", argv)
    tables = evaluate_mining.run(settings).tables
    if settings.pairs:
        show("".join(tables.values()))
        return
    for title, table in tables.items():
        show(f"{title}\n\n{table}\n")

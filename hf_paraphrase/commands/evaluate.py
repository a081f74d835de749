"""`evaluate`: sentence encoders, and the floors that need no training, on sets that people have judged."""

from __future__ import annotations

from collections.abc import Sequence

from ..evaluation.evaluate_settings import EvaluateSettings
from ..evaluation.run import evaluate
from ..messages import show
from .arguments import parse


def main(argv: Sequence[str]) -> None:
    """Runs the verb."""
    show(str(evaluate.run(parse(EvaluateSettings, "evaluate", argv))))

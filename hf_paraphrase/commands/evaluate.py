"""`evaluate`: sentence encoders, and the floors that need no training, on sets that people have judged."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from ..evaluation.evaluate_settings import EvaluateSettings
from ..evaluation.run import evaluate
from .arguments import parse


def main(argv: Sequence[str]) -> None:
    """Runs the verb."""
    sys.stdout.write(str(evaluate.run(parse(EvaluateSettings, "evaluate", argv))))

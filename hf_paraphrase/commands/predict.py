"""`predict`: a supervised model applied to a split, and compared with its classes or scores if it has any."""

from __future__ import annotations

from collections.abc import Sequence

from ..messages import show
from ..studies.supervised.predictions import PredictionSettings, predict
from ..studies.supervised.scores import score_table
from .arguments import parse


def main(argv: Sequence[str]) -> None:
    """Runs the verb."""
    settings = parse(PredictionSettings, "predict", argv)
    scores = predict.run(settings).scores
    if scores is not None:
        show(score_table({settings.split: scores}))

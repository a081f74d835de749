"""`train-parallel-classifier`: a bitext to a classifier that tells whether two sentences are translations."""

from __future__ import annotations

from collections.abc import Sequence

from ..studies.mining.parallel_training import ParallelClassifierSettings, train_parallel_classifier
from .arguments import parse


def main(argv: Sequence[str]) -> None:
    """Runs the verb."""
    train_parallel_classifier.run(parse(ParallelClassifierSettings, "train-parallel-classifier", argv))

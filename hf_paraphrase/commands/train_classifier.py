"""`train-classifier`: back-translated n-best lists to a classifier that tells references from translations."""

from __future__ import annotations

from collections.abc import Sequence

from ..filtering.reference_classifier.training import train_reference_classifier
from .arguments import parse


def main(argv: Sequence[str]) -> None:
    """Runs the verb."""
    train_reference_classifier.run(parse(train_reference_classifier.settings, "train-classifier", argv))

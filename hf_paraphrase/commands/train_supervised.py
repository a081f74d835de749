"""`train-supervised`: an encoder and labelled sentences to a classifier or scorer, trained end to end."""

from __future__ import annotations

from collections.abc import Sequence

from ..studies.supervised.training import SupervisedSettings, train_supervised
from .arguments import parse


def main(argv: Sequence[str]) -> None:
    """Runs the verb."""
    train_supervised.run(parse(SupervisedSettings, "train-supervised", argv))

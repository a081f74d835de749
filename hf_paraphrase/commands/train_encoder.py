"""`train-encoder`: paraphrase pairs to a sentence encoder."""

from __future__ import annotations

from collections.abc import Sequence

from ..encoders.train import train_encoder
from .arguments import parse


def main(argv: Sequence[str]) -> None:
    """Runs `train-encoder`.

    Raises:
        HfParaphraseError: As :func:`~..encoders.train.train_encoder`.
    """
    train_encoder.run(parse(train_encoder.settings, "train-encoder", argv))

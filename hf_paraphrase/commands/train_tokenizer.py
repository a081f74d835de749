"""`train-tokenizer`: text to a fast tokenizer for sentence encoders."""

from __future__ import annotations

from collections.abc import Sequence

from ..tokenization.train import train_tokenizer
from .arguments import parse


def main(argv: Sequence[str]) -> None:
    """Runs `train-tokenizer`.

    Raises:
        HfParaphraseError: As :func:`~..tokenization.train.train_tokenizer`.
    """
    train_tokenizer.run(parse(train_tokenizer.settings, "train-tokenizer", argv))

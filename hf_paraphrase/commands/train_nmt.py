"""`train-nmt`: trains an RNNsearch translation model on a bitext."""

from __future__ import annotations

from collections.abc import Sequence

from ..translation.train import train_translation
from ..translation.train_settings import TranslationTrainingSettings
from .arguments import parse


def main(argv: Sequence[str]) -> None:
    """Runs the verb."""
    train_translation.run(parse(TranslationTrainingSettings, "train-nmt", argv))

"""`distill`: larger encoders and plain text to a sentence encoder."""

from __future__ import annotations

from collections.abc import Sequence

from ..encoders.distillation.run import distill
from .arguments import parse


def main(argv: Sequence[str]) -> None:
    """Runs `distill`.

    Raises:
        HfParaphraseError: As :func:`~..encoders.distillation.run.distill`.
    """
    distill.run(parse(distill.settings, "distill", argv))

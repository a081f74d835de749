"""`train-sdae`: plain text to a sentence encoder, by denoising."""

from __future__ import annotations

from collections.abc import Sequence

from ..studies.sdae.settings import SdaeSettings
from ..studies.sdae.training import train_sdae
from .arguments import parse


def main(argv: Sequence[str]) -> None:
    """Runs the verb."""
    train_sdae.run(parse(SdaeSettings, "train-sdae", argv))

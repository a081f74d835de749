"""`score`: adds measures as columns to paraphrase pairs."""

from __future__ import annotations

from collections.abc import Sequence

from ..filtering.scoring import score
from .arguments import parse


def main(argv: Sequence[str]) -> None:
    """Runs the verb."""
    score.run(parse(score.settings, "score", argv))

"""`expand`: words of sentences give place to their definitions."""

from __future__ import annotations

from collections.abc import Sequence

from ..studies.expansion.expanding import ExpandSettings, expand
from .arguments import parse


def main(argv: Sequence[str]) -> None:
    """Runs the verb."""
    expand.run(parse(ExpandSettings, "expand", argv))

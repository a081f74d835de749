"""`quickstart`: the whole path on the sentences that the package contains."""

from __future__ import annotations

from collections.abc import Sequence

from ..messages import show
from ..pipeline import quickstart
from .arguments import parse


def main(argv: Sequence[str]) -> None:
    """Runs the verb."""
    show(str(quickstart.run(parse(quickstart.settings, "quickstart", argv))))

"""`quickstart`: the whole path on the sentences that the package contains."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from ..pipeline import quickstart
from .arguments import parse


def main(argv: Sequence[str]) -> None:
    """Runs the verb."""
    sys.stdout.write(str(quickstart.run(parse(quickstart.settings, "quickstart", argv))))

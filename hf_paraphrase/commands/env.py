"""`env`: versions and devices, for a bug report."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from ..training.environment import EnvironmentSettings, environment
from .arguments import parse


def main(argv: Sequence[str]) -> None:
    """Runs the verb."""
    sys.stdout.write(str(environment.run(parse(EnvironmentSettings, "env", argv))))

"""`env`: versions and devices, for a bug report."""

from __future__ import annotations

from collections.abc import Sequence

from ..messages import show
from ..training.environment import EnvironmentSettings, environment
from .arguments import parse


def main(argv: Sequence[str]) -> None:
    """Runs the verb."""
    show(str(environment.run(parse(EnvironmentSettings, "env", argv))))

"""`demo`: a page in the browser."""

from __future__ import annotations

from collections.abc import Sequence

from ..demo.run import DemoSettings, launch_demo
from .arguments import parse


def main(argv: Sequence[str]) -> None:
    """Runs the verb."""
    launch_demo.run(parse(DemoSettings, "demo", argv))

"""`join`: averaging encoders side by side in one."""

from __future__ import annotations

from collections.abc import Sequence

from ..encoders.join import JoinSettings, join_encoders
from .arguments import parse


def main(argv: Sequence[str]) -> None:
    """Runs `join`.

    Raises:
        HfParaphraseError: As :func:`~..encoders.join.join_encoders`.
    """
    join_encoders.run(parse(JoinSettings, "join", argv))

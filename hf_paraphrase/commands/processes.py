"""What a verb needs to know when `accelerate launch` runs it in several processes."""

from __future__ import annotations

import os

from .arguments import message


def is_main_process() -> bool:
    """Tells whether this is the process that writes; `accelerate launch` and `torchrun` number several from 0."""
    return os.environ.get("RANK", "0") == "0"


def say(text: str) -> None:
    """Prints a message for the user, once for all processes."""
    if is_main_process():
        message(text)

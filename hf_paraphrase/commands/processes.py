"""What a verb needs to know when `accelerate launch` runs it in several processes."""

from __future__ import annotations

import os

from ..errors import UsageError
from .arguments import message

SHARED_BY_PROCESSES = frozenset(
    {
        "back-translate",
        "train-classifier",
        "train-encoder",
        "train-nmt",
        "train-parallel-classifier",
        "train-sdae",
        "train-supervised",
    }
)
"""The verbs whose work several processes share."""


def check_processes(verb: str) -> None:
    """Refuses to do in each of several processes what one must do alone.

    Raises:
        UsageError: If the verb is such a one and `accelerate launch` or `torchrun` started more than one process.
    """
    processes = process_count()
    if verb not in SHARED_BY_PROCESSES and processes > 1:
        raise UsageError(
            f"`{verb}` runs in one process, and {processes} were started",
            remedy=f"start it as hf-paraphrase {verb}, or with --num_processes 1",
        )


def process_count() -> int:
    """Counts the processes that `accelerate launch` or `torchrun` started; 1 without them."""
    # A cluster may export WORLD_SIZE alone; RANK comes from what starts the processes.
    processes = os.environ.get("WORLD_SIZE", "1") if "RANK" in os.environ else "1"
    return int(processes) if processes.isdecimal() else 1


def shared_by() -> dict[str, int]:
    """Returns the number of processes, where there are several, for the record of a training run.

    They share the batches of an epoch, so a run that goes on with another number of them would be another run.
    """
    processes = process_count()
    return {"processes": processes} if processes > 1 else {}


def is_main_process() -> bool:
    """Tells whether this is the process that writes; `accelerate launch` and `torchrun` number several from 0."""
    return os.environ.get("RANK", "0") == "0"


def say(text: str) -> None:
    """Prints a message for the user, once for all processes."""
    if is_main_process():
        message(text)

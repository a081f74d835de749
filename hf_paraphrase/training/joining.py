"""Processes that train together: waiting before they have joined, what they must have in common, and lost ones."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import HfParaphraseError, OutputError, UsageError
from ..messages import process_count

_PATIENCE = 60.0
"""Seconds for which a folder may stay hidden: network file systems remember for a while what was not there."""


def wait_before_training(*, on_cpu: bool) -> None:
    """Waits for the other processes, which have not joined for a training yet.

    Args:
        on_cpu: Whether they will train on processors.
    """
    if process_count() == 1:
        return
    from accelerate import PartialState

    PartialState(cpu=on_cpu).wait_for_everyone()


def check_in_common(job: str, folder: Path, *, patience: float = _PATIENCE) -> None:
    """Refuses processes that would not train the same, or of which one does not see the folder of the first.

    All processes raise the same error; it is asked once they have joined, and the first one has made its folder.

    Args:
        job: The fingerprint of the job (hexadecimal digits).
        folder: The unfinished output, in which the first process writes and all read.
        patience: Seconds for which it is looked for.

    Raises:
        UsageError: If they were given different settings or inputs.
        OutputError: If a process does not see the folder.
    """
    from .processes import num_processes

    if num_processes() == 1:
        return
    import torch
    from accelerate import PartialState

    from .processes import gathered

    device = PartialState().device
    digests = gathered(torch.tensor(list(bytes.fromhex(job)), device=device))
    # The first process has made its folder before it said what its job is.
    until = time.monotonic() + patience
    while not folder.is_dir() and time.monotonic() < until:
        time.sleep(0.2)
    seen = gathered(torch.tensor(int(folder.is_dir()), device=device))
    different = [str(number) for number, digest in enumerate(digests) if not torch.equal(digest, digests[0])]
    if different:
        raise UsageError(
            f"settings or inputs of process {', '.join(different)} are not those of process 0",
            remedy="start the same command on all nodes, with the same files",
        )
    blind = [str(number) for number, sees in enumerate(seen) if not sees]
    if blind:
        raise OutputError(
            f"process {', '.join(blind)} does not see this folder of process 0",
            path=folder,
            remedy="give an --output in a folder that all nodes share",
        )


@contextmanager
def lost_processes_told() -> Iterator[None]:
    """Says of what the exchange with a process that has ended raises in the block what happened and what to do.

    Raises:
        HfParaphraseError: In place of the error of the exchange.
    """
    try:
        yield
    except RuntimeError as error:
        from .processes import num_processes

        if num_processes() == 1:
            raise
        # A torch without distributed training has no such name.
        from torch.distributed import DistError

        # Of gloo it has no type of its own, but the place in its source text.
        if not (isinstance(error, DistError) or "/gloo/" in str(error)):
            raise
        raise HfParaphraseError(
            "another process of this training has ended, or cannot be reached",
            remedy="its own messages say why; started again on all nodes with --resume, the training goes on",
        ) from error

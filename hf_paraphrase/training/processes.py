"""Several processes that train together: waiting for one another, and what they computed put together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.distributed as distributed
from torch import Tensor


def num_processes() -> int:
    """Returns the number of processes that train together."""
    return distributed.get_world_size() if _joined() else 1


def process_index() -> int:
    """Returns the number of this process among them, from 0."""
    return distributed.get_rank() if _joined() else 0


def wait_for_all() -> None:
    """Waits for the other processes, whose group exists once `TrainingArguments` were made."""
    if _joined():
        distributed.barrier()


def gathered(tensor: Tensor) -> list[Tensor]:
    """Returns what every process has in place of a tensor, process 0 first; all must have one of the same shape."""
    parts = [torch.empty_like(tensor) for _ in range(num_processes())]
    distributed.all_gather(parts, tensor)
    return parts


def all_rows(rows: Tensor, counts: Sequence[int]) -> Tensor:
    """Lays the rows of all processes end to end, without gradient.

    Args:
        rows: The rows of this process (rows, …).
        counts: How many each process has.
    """
    # The collective wants equal shapes.
    padded = rows.new_zeros(max(counts), *rows.shape[1:])
    padded[: rows.shape[0]] = rows
    return torch.cat([part[:count] for part, count in zip(gathered(padded), counts, strict=True)])


def gather_rows(rows: Tensor) -> Tensor:
    """Lays the rows of all processes end to end; the gradient flows back to the process that a row came from.

    Each process receives the sum of the gradients that all processes have for its rows. So if every process computes
    the same loss from the gathered rows, and the gradients of the parameters are averaged over the processes as
    `DistributedDataParallel` does, the result is the gradient of that loss in a single process.

    Args:
        rows: The rows of this process (rows, …); processes may have different numbers of them.

    Returns:
        The rows of all processes (all rows, …), those of process 0 first, the same on all processes. With one
        process, `rows` itself.
    """
    if num_processes() == 1:
        return rows
    counts = gathered(torch.tensor([rows.shape[0]], device=rows.device))
    joint: Tensor = _GatherRows.apply(rows, [int(item) for item in counts])
    return joint


def joint_sides(rows: Tensor, pairs: int) -> Tensor:
    """Makes the rows of the joint batch (2 * all pairs, …) from those of this process (2 * rows, …).

    Args:
        rows: The rows of the first sentences, then of their partners.
        pairs: How many pairs of this process count.
    """
    sides = rows.unflatten(0, (2, -1)).transpose(0, 1)
    return gather_rows(sides[:pairs]).transpose(0, 1).flatten(0, 1)


def mean_over_processes(value: Tensor) -> Tensor:
    """Computes the mean of a number over the processes, without gradient."""
    if num_processes() == 1:
        return value.detach()
    total = value.detach().clone()
    distributed.all_reduce(total)
    return total / num_processes()


def _joined() -> bool:
    return distributed.is_available() and distributed.is_initialized()


class _GatherRows(torch.autograd.Function):
    """:func:`gather_rows` with the numbers of rows known."""

    @staticmethod
    def forward(context: Any, rows: Tensor, counts: list[int]) -> Tensor:
        context.counts = counts
        return all_rows(rows, counts)

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        total = gradients[0].contiguous().clone()
        distributed.all_reduce(total)
        start = sum(context.counts[: process_index()])
        return total[start : start + context.counts[process_index()]], None

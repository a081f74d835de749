"""Functions for training in several processes: checks of common settings, barriers, and joint tensors."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import OutputError, UsageError
from ..messages import process_count

if TYPE_CHECKING:
    from torch import Tensor

_SHARDING = tuple(f"ACCELERATE_USE_{name}" for name in ("FSDP", "DEEPSPEED", "MEGATRON_LM", "PARALLELISM_CONFIG"))
"""The environment variables of the flags and the configuration file of `accelerate launch`."""


def refuse_sharding(arguments: Any = None) -> None:
    """Refuse launchers and `TrainingArguments` that split a model across processes."""
    names = [name for name in _SHARDING if os.environ.get(name, "").lower() in {"1", "true", "yes", "on", "y", "t"}]
    names += [name for name in ("fsdp", "deepspeed") if getattr(arguments, name, None)]
    if names:
        problem = f"{names[0]} splits a model across processes, but here every process holds the whole model"
        raise UsageError(problem, remedy="leave it out, and start torchrun or accelerate launch --multi_gpu")


def num_processes() -> int:
    """Return the number of processes that train together."""
    return group.get_world_size() if (group := _group()) else 1


def process_index() -> int:
    """Return the index of this process, from 0."""
    return group.get_rank() if (group := _group()) else 0


def wait_before_training(*, on_cpu: bool) -> None:
    """Wait for all processes before they form a group."""
    if process_count() > 1:
        from accelerate import PartialState

        PartialState(cpu=on_cpu).wait_for_everyone()


def wait_for_all() -> None:
    """Wait for all processes of the group, which `TrainingArguments` makes."""
    if group := _group():
        group.barrier()


def check_in_common(job: str, folder: Path) -> None:
    """Raise in all processes if their fingerprints differ, or if one does not see the folder of process 0."""
    if num_processes() == 1:
        return
    gathered_jobs: list[Any] = [None] * num_processes()
    group = _group()
    group.barrier()
    group.all_gather_object(gathered_jobs, (job, folder.is_dir()))
    blind = [str(index) for index, (_, sees_folder) in enumerate(gathered_jobs) if not sees_folder]
    different = [str(index) for index, (other, _) in enumerate(gathered_jobs) if other != gathered_jobs[0][0]]
    if different:
        problem = f"settings or inputs of process {', '.join(different)} differ from process 0"
        raise UsageError(problem, remedy="start the same command on all nodes, with the same files")
    if blind:
        problem = f"process {', '.join(blind)} does not see this folder of process 0"
        raise OutputError(problem, path=folder, remedy="give an --output in a folder that all nodes share")


def gather_rows(rows: Tensor) -> Tensor:
    """Concatenate the rows (rows, …) of all processes, process 0 first; their numbers may differ.

    In the backward pass each process receives the sum of all gradients of its rows. If all processes compute the same
    loss and average the gradients of parameters, the result is the gradient of a single process.
    """
    if num_processes() == 1:
        return rows
    import torch

    counts = [int(count) for count in _gather(torch.tensor([rows.shape[0]], device=rows.device))]
    # The collective requires equal shapes.
    padded = rows.detach().new_zeros(max(counts), *rows.shape[1:])
    padded[: rows.shape[0]] = rows.detach()
    parts = [part[:count] for part, count in zip(_gather(padded), counts, strict=True)]
    # Only this part has a history: it receives the gradient, summed over the processes.
    parts[process_index()] = rows
    joint = torch.cat(parts)
    if joint.requires_grad:
        joint.register_hook(_sum_over_processes)
    return joint


def joint_sides(rows: Tensor, pairs: int) -> Tensor:
    """Gather the first, then the second sentences of all processes (2 * all pairs, …); `rows` are ordered likewise."""
    by_pair = rows.unflatten(0, (2, -1)).transpose(0, 1)
    return gather_rows(by_pair[:pairs]).transpose(0, 1).flatten(0, 1)


def mean_over_processes(value: Tensor) -> Tensor:
    """Compute the mean of a tensor over the processes, without gradient."""
    if num_processes() == 1:
        return value.detach()
    return _sum_over_processes(value.detach()) / num_processes()


def _group() -> Any:
    """Return the module of the group of processes, or None in a process that trains alone."""
    import torch.distributed as distributed

    return distributed if distributed.is_available() and distributed.is_initialized() else None


def _gather(tensor: Tensor) -> list[Tensor]:
    """Return the tensors of all processes, process 0 first; they must have equal shapes."""
    import torch

    parts = [torch.empty_like(tensor) for _ in range(num_processes())]
    _group().all_gather(parts, tensor)
    return parts


def _sum_over_processes(tensor: Tensor) -> Tensor:
    total = tensor.contiguous().clone()
    _group().all_reduce(total)
    return total

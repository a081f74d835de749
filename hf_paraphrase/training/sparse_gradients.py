"""Sparse gradients of word vectors in the Trainer: what several processes have, put together, and the norm to clip to.

`DistributedDataParallel` exchanges whole tables of vectors, of which a batch needs a few rows. Where gradients are
sparse it is left out, and the processes exchange the rows that occur in the joint batch.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import torch
import torch.distributed as distributed
from torch import Tensor, nn
from transformers import Trainer, TrainingArguments

from .accelerators import take_one_gpu_aloud
from .processes import all_rows, gathered, num_processes

_DENSE, _NONE = -1, -2
"""What a process says of a gradient that has no number of rows."""


def average_gradients(parameters: Iterable[nn.Parameter]) -> None:
    """Puts the mean over the processes of each gradient in its place, the same to the last bit on all of them.

    Dense gradients travel together, of sparse ones the rows that occur. A process in whose batch a parameter did not
    take part counts as zeros. A gradient that is dense on one process becomes dense on all.

    Args:
        parameters: Those of the model, in the same order on all processes.
    """
    trained = [item for item in parameters if item.requires_grad]
    for item in trained:
        if item.grad is not None and item.grad.is_sparse:
            # A word that occurs several times travels once.
            item.grad = item.grad.coalesce()
    kinds = torch.stack(gathered(torch.tensor([_kind(item.grad) for item in trained], device=trained[0].device)))
    dense: list[nn.Parameter] = []
    for item, found in zip(trained, kinds.T.tolist(), strict=True):
        if _DENSE in found:
            dense.append(item)
        elif max(found) >= 0:
            item.grad = _mean_of_rows(item, found)
    for dtype in dict.fromkeys(item.dtype for item in dense):
        _average_dense([item for item in dense if item.dtype == dtype])


def _kind(gradient: Tensor | None) -> int:
    if gradient is None:
        return _NONE
    return gradient.indices().shape[1] if gradient.is_sparse else _DENSE


def _mean_of_rows(parameter: nn.Parameter, kinds: Sequence[int]) -> Tensor:
    """Computes the mean of sparse gradients of a parameter, of which the processes have so many rows or none."""
    if parameter.grad is None:
        rows, values = torch.empty(0, dtype=torch.long, device=parameter.device), parameter.new_empty(0)
        values = values.view(0, *parameter.shape[1:])
    else:
        rows, values = parameter.grad.indices()[0], parameter.grad.values()
    counts = [max(0, kind) for kind in kinds]
    every_row, every_value = all_rows(rows, counts), all_rows(values, counts)
    # Sums are taken in the order of the processes, wherever they are.
    total = torch.sparse_coo_tensor(every_row.unsqueeze(0), every_value, parameter.shape, check_invariants=False)
    return total.coalesce().div_(len(counts))


def _average_dense(parameters: Sequence[nn.Parameter]) -> None:
    gradients = [_densely(item) for item in parameters]
    joint = torch.cat([gradient.flatten() for gradient in gradients])
    distributed.all_reduce(joint)
    joint /= num_processes()
    for item, values in zip(parameters, joint.split([item.numel() for item in parameters]), strict=True):
        item.grad = values.view_as(item)


def _densely(parameter: nn.Parameter) -> Tensor:
    gradient = parameter.grad
    if gradient is None:
        return torch.zeros_like(parameter)
    return gradient.to_dense() if gradient.is_sparse else gradient


class SparseGradientTrainer(Trainer):
    """A Trainer of a model with tables of vectors whose gradients may be sparse, in one process or several.

    Sparse and dense gradients are clipped to `max_grad_norm` by their joint norm, in place. Several processes begin
    with the weights of the first one and make the same updates, so that theirs stay the same to the last bit; the
    gradient is that of one process with the joint batch, up to the order of sums.

    Attributes:
        sparse_gradients: Whether the gradients of tables are sparse.
    """

    sparse_gradients: bool = False

    def __init__(self, model: nn.Module, args: TrainingArguments, *given: Any, **settings: Any) -> None:
        take_one_gpu_aloud(args)
        super().__init__(model, args, *given, **settings)

    @property
    def _joins_rows(self) -> bool:
        return self.sparse_gradients and num_processes() > 1

    def train(self, *args: Any, **kwargs: Any) -> Any:
        """Trains as the Trainer does."""
        accelerator: Any = self.accelerator
        if self._joins_rows:
            accelerator.prepare_model = partial(_prepare_replicated, accelerator.prepare_model)
        try:
            return super().train(*args, **kwargs)
        finally:
            # What was set on the object hides the method of its class.
            vars(accelerator).pop("prepare_model", None)

    def training_step(self, *args: Any, **kwargs: Any) -> Tensor:
        """Makes a step on a mini-batch; behind the last one of an update the gradients are those of all processes."""
        loss = super().training_step(*args, **kwargs)
        if self._joins_rows and self.accelerator.sync_gradients:
            average_gradients(self.model.parameters())
        return loss

    def _clip_grad_norm(self, model: nn.Module) -> Tensor:
        gradients = [item.grad for item in model.parameters() if item.grad is not None]
        values = [item.coalesce().values() if item.is_sparse else item for item in gradients]
        norm = torch.linalg.vector_norm(torch.stack([torch.linalg.vector_norm(item) for item in values]))
        scale = (self.args.max_grad_norm / (norm + 1e-6)).clamp_max(1.0)
        for gradient in gradients:
            gradient.mul_(scale)
        return norm

    def _get_grad_norm(self, model: nn.Module, grad_norm: Tensor | float | None = None) -> Tensor | float | None:
        # The base class would compute a norm over whole tables of vectors in every step only to log it.
        return grad_norm


@torch.no_grad()
def _prepare_replicated(prepare_model: Any, model: nn.Module, *args: Any, **settings: Any) -> nn.Module:
    """Prepares a model without `DistributedDataParallel`, with the weights of the first process."""
    prepared: nn.Module = prepare_model(model, *args, **{**settings, "evaluation_mode": True})
    for tensor in (*prepared.parameters(), *prepared.buffers()):
        distributed.broadcast(tensor, 0)
    return prepared

"""Sparse gradients of word vectors in the Trainer: the exchange between processes, and clipping by the norm.

`DistributedDataParallel` exchanges whole tables of vectors, but a batch has few rows. With sparse gradients the
processes exchange only the rows of the joint batch instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import torch
import torch.distributed as distributed
from torch import Tensor, nn
from transformers import Trainer, TrainerCallback

from .processes import gather_rows, mean_over_processes, num_processes
from .row_adam import RowAdam


def average_gradients(parameters: Iterable[nn.Parameter]) -> None:
    """Replace gradients by their mean over the processes, equal to the last bit in all of them."""
    for parameter in parameters:
        gradient = parameter.grad
        if gradient is None:
            continue
        if gradient.is_sparse:
            # Coalesced, so that a repeated word is sent once; sums follow the order of the processes.
            gradient = gradient.coalesce()
            rows, values = gather_rows(gradient.indices()[0]), gather_rows(gradient.values())
            total = torch.sparse_coo_tensor(rows.unsqueeze(0), values, parameter.shape, check_invariants=False)
            parameter.grad = total.coalesce().div_(num_processes())
        else:
            parameter.grad = mean_over_processes(gradient)


class SparseGradientTrainer(Trainer):
    """A Trainer of a model with tables of vectors whose gradients may be sparse, in one process or several.

    All processes start with the weights of the first process and make the same updates. Their gradient equals the
    gradient of a single process with the joint batch, up to the order of sums.
    """

    sparse_gradients: bool = False

    @property
    def adam(self) -> Callable[..., torch.optim.Optimizer]:
        """The class of Adam: `RowAdam` if gradients are sparse."""
        return RowAdam if self.sparse_gradients else torch.optim.Adam

    @property
    def _joins_rows(self) -> bool:
        return self.sparse_gradients and num_processes() > 1

    def train(self, *args: Any, **kwargs: Any) -> Any:
        """Train without `DistributedDataParallel` if processes exchange rows."""
        accelerator: Any = self.accelerator
        if self._joins_rows:
            accelerator.prepare_model = partial(_prepare_replicated, accelerator.prepare_model)
        try:
            return super().train(*args, **kwargs)
        finally:
            # Restores the method of the class.
            vars(accelerator).pop("prepare_model", None)

    def training_step(self, *args: Any, **kwargs: Any) -> Tensor:
        """Make a step on a batch; the last step of an update averages the gradients over processes."""
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


class DenseGradients(TrainerCallback):
    """Make sparse gradients dense before an update, for optimizers without support for them."""

    def on_pre_optimizer_step(self, *args: Any, optimizer: Any, **kwargs: Any) -> None:
        """Replace sparse gradients."""
        for parameter in (parameter for group in optimizer.param_groups for parameter in group["params"]):
            if parameter.grad is not None and parameter.grad.is_sparse:
                parameter.grad = parameter.grad.to_dense()


@torch.no_grad()
def _prepare_replicated(prepare_model: Any, model: nn.Module, *args: Any, **settings: Any) -> nn.Module:
    """Prepare a model without `DistributedDataParallel`, with the weights of the first process."""
    prepared: nn.Module = prepare_model(model, *args, **{**settings, "evaluation_mode": True})
    for tensor in (*prepared.parameters(), *prepared.buffers()):
        distributed.broadcast(tensor, 0)
    return prepared

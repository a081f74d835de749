"""Sparse gradients of word vectors: Adam for the rows of a batch, and their exchange between processes in the Trainer.

`DistributedDataParallel` exchanges whole tables of vectors, but a batch has few rows. With sparse gradients the
processes exchange only the rows of the joint batch instead.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import torch
import torch.distributed as distributed
from torch import Tensor, nn
from transformers import Trainer, TrainerCallback

from .processes import gather_rows, mean_over_processes, num_processes

_NUMBERS_AT_A_TIME = 1 << 17


class RowAdam(torch.optim.Optimizer):
    """Adam (Kingma and Ba 2015, algorithm 1) for parameters with dense or with sparse gradients.

    A dense gradient gets exactly the update of `torch.optim.Adam` without weight decay. A sparse gradient updates only
    its own rows, as in `torch.optim.SparseAdam`: other rows do not move, and their moments do not decay. The bias
    correction always counts the steps of the whole parameter.
    """

    def __init__(
        self, params: Iterable[Any], lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8
    ) -> None:
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps})

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        """Update every parameter that has a gradient."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self._update(parameter, parameter.grad, group)
        return loss

    def _update(self, parameter: Tensor, gradient: Tensor, group: dict[str, Any]) -> None:
        state = self.state[parameter]
        if not state:
            # A tensor, because loading a state casts all tensors except `step`.
            state["step"] = torch.zeros(())
            state["exp_avg"] = torch.zeros_like(parameter, memory_format=torch.preserve_format)
            state["exp_avg_sq"] = torch.zeros_like(parameter, memory_format=torch.preserve_format)
        state["step"] += 1
        step = float(state["step"])
        beta1, beta2 = group["betas"]
        first, second = state["exp_avg"], state["exp_avg_sq"]
        rate = group["lr"] / (1 - beta1**step)
        correction = math.sqrt(1 - beta2**step)
        if not gradient.is_sparse:
            first.lerp_(gradient, 1 - beta1)
            second.mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
            parameter.addcdiv_(first, (second.sqrt() / correction).add_(group["eps"]), value=-rate)
            return
        rows, values = _different_rows(gradient)
        # A few rows at a time stay in the CPU's cache for all operations.
        is_on_cpu = parameter.device.type == "cpu"
        size = max(1, _NUMBERS_AT_A_TIME // max(1, parameter[0].numel()) if is_on_cpu else len(rows))
        for some, changes in zip(rows.split(size), values.split(size), strict=True):
            first_rows = first.index_select(0, some).lerp_(changes, 1 - beta1)
            second_rows = second.index_select(0, some).mul_(beta2).addcmul_(changes, changes, value=1 - beta2)
            first.index_copy_(0, some, first_rows)
            second.index_copy_(0, some, second_rows)
            change = first_rows.div_((second_rows.sqrt_() / correction).add_(group["eps"]))
            if is_on_cpu:
                parameter.index_add_(0, some, change, alpha=-rate)
            else:
                parameter.index_copy_(0, some, parameter.index_select(0, some).sub_(change, alpha=rate))


def _different_rows(gradient: Tensor) -> tuple[Tensor, Tensor]:
    """Return the distinct rows of a sparse gradient, ascending (rows,), and their values (rows, …)."""
    rows, values = gradient._indices()[0], gradient._values()
    if rows.device.type != "cpu":
        return _summed_rows(rows, values)
    # Ascending rows are not sorted again, even if the flag of the tensor is lost.
    if gradient.is_coalesced() or bool((rows[1:] > rows[:-1]).all()):
        return rows, values
    gradient = gradient.coalesce()
    return gradient.indices()[0], gradient.values()


def _summed_rows(rows: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    """Add the values of equal rows without reading their number from a GPU; the last row is repeated as padding."""
    rows, order = rows.sort(stable=True)
    begins = torch.ones_like(rows)
    begins[1:] = rows[1:] != rows[:-1]
    slots = begins.cumsum(0) - 1
    # On CUDA this sorts and is deterministic; `index_add_` adds in any order.
    sums = torch.zeros_like(values).index_put_((slots,), values.index_select(0, order), accumulate=True)
    different = torch.zeros_like(rows).scatter_(0, slots, rows)
    chosen = torch.arange(len(rows), device=rows.device).minimum(slots[-1:])
    return different.index_select(0, chosen), sums.index_select(0, chosen)


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
        gradients = [parameter.grad for parameter in model.parameters() if parameter.grad is not None]
        values = [gradient.coalesce().values() if gradient.is_sparse else gradient for gradient in gradients]
        norm = torch.linalg.vector_norm(torch.stack(list(map(torch.linalg.vector_norm, values))))
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

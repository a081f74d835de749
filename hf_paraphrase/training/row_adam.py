"""Adam for sparse gradients of word vectors, which updates only the rows of a batch."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor

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
        """Makes one update of every parameter that has a gradient."""
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
        # A few rows at a time, which stay in the processor's cache for all operations.
        on_processor = parameter.device.type == "cpu"
        size = max(1, _NUMBERS_AT_A_TIME // max(1, parameter[0].numel()) if on_processor else len(rows))
        for some, changes in zip(rows.split(size), values.split(size), strict=True):
            first_rows = first.index_select(0, some).lerp_(changes, 1 - beta1)
            second_rows = second.index_select(0, some).mul_(beta2).addcmul_(changes, changes, value=1 - beta2)
            first.index_copy_(0, some, first_rows)
            second.index_copy_(0, some, second_rows)
            change = first_rows.div_((second_rows.sqrt_() / correction).add_(group["eps"]))
            if on_processor:
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
    numbers = begins.cumsum(0) - 1
    # On CUDA this sorts and is deterministic; `index_add_` adds in any order.
    sums = torch.zeros_like(values).index_put_((numbers,), values.index_select(0, order), accumulate=True)
    different = torch.zeros_like(rows).scatter_(0, numbers, rows)
    chosen = torch.arange(len(rows), device=rows.device).minimum(numbers[-1:])
    return different.index_select(0, chosen), sums.index_select(0, chosen)

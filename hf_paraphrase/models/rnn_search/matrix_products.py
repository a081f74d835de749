"""Products of fp32 matrices on a processor, by oneDNN.

PyTorch takes such products from MKL, which runs on other processors than Intel's at half the speed of the oneDNN that
PyTorch brings too and uses for bfloat16. What comes out is the same up to rounding.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional

_HAS_ONEDNN = torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise")


def linear(inputs: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Computes inputs @ weight.T + bias as `torch.nn.functional.linear` does, with gradients.

    oneDNN is called for fp32 on a processor, outside of autocast and of a compiler; everything else is left to
    PyTorch.

    Args:
        inputs: (…, input size).
        weight: (output size, input size).
        bias: (output size,).

    Returns:
        (…, output size).
    """
    if (
        not _HAS_ONEDNN
        or not inputs.dtype == weight.dtype == torch.float32
        or inputs.device.type != "cpu"
        or not inputs.numel()
        or torch.is_autocast_enabled("cpu")
        or torch.compiler.is_compiling()
        or torch.jit.is_tracing()
    ):
        return functional.linear(inputs, weight, bias)
    if torch.is_grad_enabled() and (inputs.requires_grad or weight.requires_grad):
        result: Tensor = _OneDnnLinear.apply(inputs, weight, bias)
        return result
    return _product(inputs, weight, bias)


def _product(inputs: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    result: Tensor = torch.ops.mkldnn._linear_pointwise(inputs, weight, bias, "none", [], "")
    return result


class _OneDnnLinear(torch.autograd.Function):
    """The same with gradients; the operator of PyTorch has none."""

    @staticmethod
    def forward(ctx: Any, inputs: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(inputs, weight)
        return _product(inputs, weight, bias)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        inputs, weight = ctx.saved_tensors
        of_inputs = of_weight = of_bias = None
        rows = gradient.reshape(-1, gradient.shape[-1])
        if ctx.needs_input_grad[0]:
            of_inputs = _product(rows, weight.t()).view(inputs.shape)
        if ctx.needs_input_grad[1]:
            of_weight = _product(rows.t(), inputs.reshape(-1, inputs.shape[-1]).t())
        if ctx.needs_input_grad[2]:
            of_bias = rows.sum(0)
        return of_inputs, of_weight, of_bias


class Linear(nn.Linear):
    """`torch.nn.Linear` by :func:`linear`."""

    def forward(self, input: Tensor) -> Tensor:
        """Multiplies (…, input size), giving (…, output size)."""
        return linear(input, self.weight, self.bias)

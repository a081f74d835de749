"""Products of matrices on a processor, by oneDNN.

A saved folder of a model that uses this file holds a copy of it, because each folder travels to the Hub by itself.
PyTorch takes such products from MKL, which runs on other processors than Intel's at half the speed of the oneDNN that
PyTorch brings too and uses for bfloat16 and for its LSTM. What comes out is the same up to rounding.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional

_HAS_ONEDNN = torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise")
_SMALL = 1 << 12
"""With fewer weights than these the call of oneDNN alone takes several times as long as PyTorch's product."""
_HAS_BFLOAT16 = _HAS_ONEDNN and torch.ops.mkldnn._is_mkldnn_bf16_supported()


def affine(inputs: Tensor, weight: Tensor, bias: Tensor | None = None, *, added: Tensor | None = None) -> Tensor:
    """Computes inputs @ weight.T + bias + added, as `torch.nn.functional.linear` does, with gradients.

    oneDNN is called for fp32 on a processor, outside of autocast, a compiler and an export, where the weights are not
    few; everything else is left to PyTorch. Where no gradient is wanted it is called for bfloat16 too: PyTorch does
    that itself, but first writes the bias into the result.

    Args:
        inputs: (…, input size).
        weight: (output size, input size).
        bias: (output size,).
        added: (…, output size).

    Returns:
        (…, output size).
    """
    wants_gradient = torch.is_grad_enabled() and any(
        x is not None and x.requires_grad for x in (inputs, weight, bias, added)
    )
    known = inputs.dtype == torch.float32 or (inputs.dtype == torch.bfloat16 and _HAS_BFLOAT16 and not wants_gradient)
    if (
        not _HAS_ONEDNN
        or not known
        or weight.numel() < _SMALL
        or weight.dtype != inputs.dtype
        or inputs.device.type != "cpu"
        or not inputs.numel()
        or torch.is_autocast_enabled("cpu")
        or torch.compiler.is_compiling()
        or torch.jit.is_tracing()
    ):
        result = functional.linear(inputs, weight, bias)
        return result if added is None else result + added
    if wants_gradient:
        result = _OneDnnAffine.apply(inputs, weight, bias, added)
        return result
    return _one_dnn_affine(inputs, weight, bias, added)


def _one_dnn_affine(inputs: Tensor, weight: Tensor, bias: Tensor | None, added: Tensor | None) -> Tensor:
    result: Tensor
    if added is None:
        result = torch.ops.mkldnn._linear_pointwise(inputs, weight, bias, "none", [], "")
    else:
        result = torch.ops.mkldnn._linear_pointwise.binary(inputs, added, weight, bias, "add")
    return result


class _OneDnnAffine(torch.autograd.Function):
    """The same with gradients; the operators of PyTorch have none."""

    @staticmethod
    def forward(ctx: Any, inputs: Tensor, weight: Tensor, bias: Tensor | None, added: Tensor | None) -> Tensor:
        ctx.save_for_backward(inputs, weight)
        return _one_dnn_affine(inputs, weight, bias, added)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        inputs, weight = ctx.saved_tensors
        # For rows with gaps between them oneDNN has no fast way.
        rows = gradient.reshape(-1, gradient.shape[-1]).contiguous()
        entered = inputs.reshape(-1, inputs.shape[-1]).contiguous()
        return (
            _one_dnn_affine(rows, weight.t(), None, None).view(inputs.shape) if ctx.needs_input_grad[0] else None,
            _one_dnn_affine(rows.t(), entered.t(), None, None) if ctx.needs_input_grad[1] else None,
            rows.sum(0) if ctx.needs_input_grad[2] else None,
            gradient if ctx.needs_input_grad[3] else None,
        )


class Linear(nn.Linear):
    """`torch.nn.Linear` by :func:`affine`."""

    def forward(self, input: Tensor) -> Tensor:
        """Multiplies (…, input size), giving (…, output size)."""
        return affine(input, self.weight, self.bias)

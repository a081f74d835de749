"""Products of matrices on a processor, by oneDNN.

A saved folder of a model that uses this file holds a copy of it, because each folder travels to the Hub by itself.
PyTorch takes such products from MKL, which runs on other processors than Intel's at half the speed of the oneDNN that
PyTorch brings too and uses for bfloat16 and for its LSTM. What comes out is the same up to rounding.

oneDNN compiles a product again for every number of rows, which takes as long as multiplying some hundred rows, and
keeps a thousand of them. Recurrent networks and searches have another number of rows in every step, so that small
models would spend much of their time there: few numbers of rows are used, and what is missing is filled up.
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
_LONG = 1 << 28
"""With more multiplications than these the rows that fill up cost more than compiling."""
_HAS_BFLOAT16 = _HAS_ONEDNN and torch.ops.mkldnn._is_mkldnn_bf16_supported()


def affine(inputs: Tensor, weight: Tensor, bias: Tensor | None = None, *, added: Tensor | None = None) -> Tensor:
    """Computes inputs @ weight.T + bias + added, as `torch.nn.functional.linear` does, with gradients.

    oneDNN is called for fp32 on a processor, outside of autocast, a compiler and an export, where the weights are not
    few; everything else is left to PyTorch. Where no gradient is wanted it is called for bfloat16 too: PyTorch does
    that itself, but first writes the bias into the result. Rows are filled up to few numbers of them.

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
    is_supported = inputs.dtype == torch.float32 or (
        inputs.dtype == torch.bfloat16 and _HAS_BFLOAT16 and not wants_gradient
    )
    here = (
        _HAS_ONEDNN
        and inputs.device.type == "cpu"
        and bool(inputs.numel())
        and not torch.compiler.is_compiling()
        and not torch.jit.is_tracing()
    )
    autocast = here and torch.is_autocast_enabled("cpu")
    called = here and is_supported and weight.dtype == inputs.dtype and weight.numel() >= _SMALL and not autocast
    if called or autocast or (here and inputs.dtype == torch.bfloat16):
        count = inputs.numel() // inputs.shape[-1]
        more = filled_up(count) - count
        if more and inputs.numel() * weight.shape[0] < _LONG:
            rows, above = (None if x is None else _with_more_rows(x, count, more) for x in (inputs, added))
            assert rows is not None
            return affine(rows, weight, bias, added=above)[:count].view(*inputs.shape[:-1], weight.shape[0])
    if not called:
        result = functional.linear(inputs, weight, bias)
        return result if added is None else result + added
    if wants_gradient:
        result = _OneDnnAffine.apply(inputs, weight, bias, added)
        return result
    return _one_dnn_affine(inputs, weight, bias, added)


def filled_up(rows: int) -> int:
    """Rounds a number of rows up by an eighth at most, so that there are eight numbers from each power of two on."""
    step = 1 << max(0, rows.bit_length() - 4)
    return -(-rows // step) * step


def _with_more_rows(values: Tensor, count: int, more: int) -> Tensor:
    # `functional.pad` would first fill all of the result.
    return torch.cat([values.reshape(count, values.shape[-1]), values.new_zeros(more, values.shape[-1])])


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

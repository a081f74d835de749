"""The cross-entropy of a softmax over a large vocabulary, without keeping what an ordinary one keeps."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from .matrix_products import affine

_BLOCK_ELEMENTS = 1 << 25
"""Logits in memory at a time at most (or those of one token): 128 MiB in fp32."""
_CACHED_ELEMENTS = 1 << 18
"""Logits that are turned into probabilities at a time, so that they are still in a cache."""


def summed_cross_entropy(states: Tensor, weight: Tensor, bias: Tensor, targets: Tensor) -> Tensor:
    """Computes Σ_i −log softmax(W s_i + b)[y_i].

    Logits, probabilities and the gradient of the logits take turns in one piece of memory, a block of tokens at a
    time, and the gradients are computed at once: they only wait for the factor that comes from behind. Under autocast
    the products are of the lower precision, the softmax and the loss fp32.

    Args:
        states: s (tokens, size).
        weight: W (vocabulary, size).
        bias: b (vocabulary,).
        targets: y (tokens,), int64.

    Returns:
        The sum in nats, a scalar.
    """
    device, dtype = states.device.type, states.dtype
    if torch.is_autocast_enabled(device):
        dtype = torch.get_autocast_dtype(device)
    if torch.is_grad_enabled():
        loss: Tensor = _SummedCrossEntropy.apply(states, weight, bias, targets, dtype)
        return loss
    return _loss_and_gradients(states.to(dtype), weight.to(dtype), bias.to(dtype), targets, gradients=False)[0]


def _loss_and_gradients(
    states: Tensor, weight: Tensor, bias: Tensor, targets: Tensor, *, gradients: bool
) -> tuple[Tensor, Tensor | None, Tensor | None, Tensor | None]:
    """Computes the loss and, if they are wanted, its gradients by states, weight and bias; fp32 if not fp64."""
    tokens, vocabulary = states.shape[0], weight.shape[0]
    exact = torch.float64 if states.dtype == torch.float64 else torch.float32
    loss = states.new_zeros((), dtype=exact)
    of_states = torch.empty_like(states, dtype=exact) if gradients else None
    of_weight = torch.zeros_like(weight, dtype=exact) if gradients else None
    of_bias = torch.zeros_like(bias, dtype=exact) if gradients else None
    rows = max(1, _BLOCK_ELEMENTS // vocabulary)
    # A processor's cache is what small parts are for.
    few = max(1, _CACHED_ELEMENTS // vocabulary) if states.device.type == "cpu" else rows
    for start in range(0, tokens, rows):
        block, wanted = states[start : start + rows], targets[start : start + rows].unsqueeze(1)
        with torch.no_grad(), torch.autocast(states.device.type, enabled=False):
            logits = affine(block, weight, bias)
            for first in range(0, len(logits), few):
                part, column = logits[first : first + few], wanted[first : first + few]
                probabilities = torch.softmax(part, dim=1, dtype=exact)
                # The greatest probability is exp(greatest logit - log of the sum), and never too small for its
                # logarithm, as that of the wanted word may be.
                of_sum = part.amax(1).to(exact) - probabilities.amax(1).log_()
                loss += (of_sum.unsqueeze(1) - part.gather(1, column)).sum()
                if of_bias is not None:
                    probabilities.scatter_add_(1, column, probabilities.new_full(column.shape, -1.0))
                    of_bias += probabilities.sum(0)
                    part.copy_(probabilities)
            if of_states is not None and of_weight is not None:
                of_states[start : start + rows] = affine(logits, weight.t())
                of_weight += affine(logits.t(), block.t())
    return loss, of_states, of_weight, of_bias


class _SummedCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, states: Tensor, weight: Tensor, bias: Tensor, targets: Tensor, dtype: torch.dtype) -> Tensor:
        cast = states.to(dtype), weight.to(dtype), bias.to(dtype)
        loss, *found = _loss_and_gradients(*cast, targets, gradients=True)
        ctx.save_for_backward(*found)
        ctx.dtypes = (states.dtype, weight.dtype, bias.dtype)
        return loss

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, of_loss: Tensor) -> tuple[Tensor | None, ...]:
        gradients = ((item * of_loss).to(dtype) for item, dtype in zip(ctx.saved_tensors, ctx.dtypes, strict=True))
        return (*gradients, None, None)

"""The cross-entropy of a softmax over a large vocabulary, without keeping what an ordinary one keeps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from .matrix_products import affine

_BLOCK_ELEMENTS = 1 << 25
"""Logits in memory at a time at most (or those of one token): 128 MiB in fp32."""
_CACHED_ELEMENTS = 1 << 18
"""Logits that are turned into probabilities at a time, so that they are still in a cache."""


def mean_cross_entropy(states: Tensor, weight: Tensor, bias: Tensor, labels: Tensor, smoothing: float = 0.0) -> Tensor:
    """Computes the mean of :func:`summed_cross_entropy` over the tokens of a padded batch, a scalar in nats.

    Args:
        states: s (batch, length, size).
        weight: As there.
        bias: As there.
        labels: y (batch, length), int64; −100 where there is no token.
        smoothing: As there.
    """
    counted = labels != -100
    # The padding is left out, but on a GPU, which would be waited for to learn how much it is.
    if labels.device.type == "cpu":
        states, targets = states[counted], labels[counted]
    else:
        states, targets = states.flatten(0, 1), labels.flatten()
    return summed_cross_entropy(states, weight, bias, targets, smoothing) / counted.sum()


def summed_cross_entropy(
    states: Tensor, weight: Tensor, bias: Tensor, targets: Tensor, smoothing: float = 0.0
) -> Tensor:
    """Computes Σ_i −(1 − ε) log p_i[y_i] − ε mean_v log p_i[v], where p_i = softmax(W s_i + b).

    Logits, probabilities and the gradient of the logits take turns in one piece of memory, a block of tokens at a
    time, and the gradients are computed at once: they only wait for the factor that comes from behind. Under autocast
    the products are of the lower precision, the softmax and the loss fp32.

    Args:
        states: s (tokens, size).
        weight: W (vocabulary, size).
        bias: b (vocabulary,).
        targets: y (tokens,), int64; a token with a negative one adds nothing.
        smoothing: ε, the share of the target that is spread over the vocabulary (Szegedy et al. 2016, section 7).
    """
    device, dtype = states.device.type, states.dtype
    if torch.is_autocast_enabled(device):
        dtype = torch.get_autocast_dtype(device)
    if torch.is_grad_enabled():
        loss: Tensor = _SummedCrossEntropy.apply(states, weight, bias, targets, smoothing, dtype)
        return loss
    cast = states.to(dtype), weight.to(dtype), bias.to(dtype)
    return _loss_and_gradients(*cast, targets, smoothing, (False, False, False))[0]


def _loss_and_gradients(
    states: Tensor, weight: Tensor, bias: Tensor, targets: Tensor, smoothing: float, wanted: Sequence[bool]
) -> tuple[Tensor, Tensor | None, Tensor | None, Tensor | None]:
    """Computes the loss and those of its gradients by states, weight and bias that are wanted; fp32 if not fp64."""
    tokens, vocabulary = states.shape[0], weight.shape[0]
    exact = torch.float64 if states.dtype == torch.float64 else torch.float32
    loss = states.new_zeros((), dtype=exact)
    of_states = torch.empty_like(states, dtype=exact) if wanted[0] else None
    of_weight = torch.zeros_like(weight, dtype=exact) if wanted[1] else None
    of_bias = torch.zeros_like(bias, dtype=exact) if wanted[2] else None
    rows = max(1, _BLOCK_ELEMENTS // vocabulary)
    # On a processor it is quickly seen that none is; a GPU would be waited for, and a compiler cannot look.
    some_absent = states.device.type != "cpu" or torch.compiler.is_compiling() or bool((targets < 0).any())
    # A processor's cache is what small parts are for.
    few = max(1, _CACHED_ELEMENTS // vocabulary) if states.device.type == "cpu" else rows
    for start in range(0, tokens, rows):
        block, columns = states[start : start + rows], targets[start : start + rows].unsqueeze(1)
        with torch.no_grad(), torch.autocast(states.device.type, enabled=False):
            logits = affine(block, weight, bias)
            for first in range(0, len(logits), few):
                part, target = logits[first : first + few], columns[first : first + few]
                column, absent = (target.clamp_min(0), target < 0) if some_absent else (target, None)
                probabilities = torch.softmax(part, dim=1, dtype=exact)
                # The greatest probability is exp(greatest logit - log of the sum), and never too small for its
                # logarithm, as that of the wanted word may be.
                of_sum = part.amax(1).to(exact) - probabilities.amax(1).log_()
                losses = of_sum.unsqueeze(1) - (1.0 - smoothing) * part.gather(1, column)
                loss += (losses if absent is None else losses.masked_fill(absent, 0.0)).sum()
                if smoothing:
                    means = part.mean(1, keepdim=True, dtype=exact)
                    loss -= smoothing * (means if absent is None else means.masked_fill(absent, 0.0)).sum()
                if any(wanted):
                    probabilities.scatter_add_(1, column, probabilities.new_full(column.shape, smoothing - 1.0))
                    if smoothing:
                        probabilities.sub_(smoothing / vocabulary)
                    if absent is not None:
                        probabilities.masked_fill_(absent, 0.0)
                    part.copy_(probabilities)
                if of_bias is not None:
                    of_bias += probabilities.sum(0)
            if of_states is not None:
                of_states[start : start + rows] = affine(logits, weight.t())
            if of_weight is not None:
                of_weight += affine(logits.t(), block.t())
    return loss, of_states, of_weight, of_bias


class _SummedCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        states: Tensor,
        weight: Tensor,
        bias: Tensor,
        targets: Tensor,
        smoothing: float,
        dtype: torch.dtype,
    ) -> Tensor:
        cast = states.to(dtype), weight.to(dtype), bias.to(dtype)
        loss, *found = _loss_and_gradients(*cast, targets, smoothing, ctx.needs_input_grad[:3])
        ctx.save_for_backward(*found)
        ctx.dtypes = (states.dtype, weight.dtype, bias.dtype)
        return loss

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, of_loss: Tensor) -> tuple[Tensor | None, ...]:
        gradients = (
            None if item is None else (item * of_loss).to(dtype)
            for item, dtype in zip(ctx.saved_tensors, ctx.dtypes, strict=True)
        )
        return (*gradients, None, None, None)

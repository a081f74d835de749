"""The norm to which gradients are clipped where those of word vectors are sparse."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from transformers import Trainer


class SparseGradientNorm(Trainer):
    """A Trainer that clips sparse and dense gradients to `max_grad_norm` by their joint norm, in place."""

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

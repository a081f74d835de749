"""Energies of additive attention from one exponential a key and a query instead of one tanh a pair of them."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

_GREATEST = 40.0
"""Greatest absolute value of keys and queries for which exp(2x) is neither 0 nor infinite in fp32."""
_ELEMENTS_AT_ONCE = 1 << 20
"""Elements of the hidden layer (sentences * width * source length * attention) that are computed together."""


class AttentionKeys(NamedTuple):
    """The keys of a batch of sentences, laid out for many queries.

    Attributes:
        keys: As the model computes them, (batch, source length, attention).
        doubled: exp(2 * keys) in fp32; None where :meth:`energies` takes the hyperbolic tangent itself.
    """

    keys: Tensor
    doubled: Tensor | None

    @classmethod
    def prepare(cls, keys: Tensor, dtype: torch.dtype) -> AttentionKeys:
        """Lays out keys (batch, source length, attention) for queries in an arithmetic.

        On other devices than processors, where looking at the values would wait for all work under way, keys stay as
        they are; likewise where one is too large.
        """
        if keys.device.type != "cpu" or not keys.numel() or float(keys.abs().amax()) > _GREATEST:
            return cls(keys.to(dtype), None)
        return cls(keys.to(dtype), torch.exp(2.0 * keys.float()))

    def select(self, rows: Tensor | slice) -> AttentionKeys:
        """Takes over the keys of some sentences."""
        return AttentionKeys(self.keys[rows], None if self.doubled is None else self.doubled[rows])

    def energies(self, query: Tensor, vector: Tensor) -> Tensor:
        """Computes v · tanh(query + key) up to a constant, which the softmax over the source positions cancels.

        tanh(q + k) = 1 - 2 / (1 + exp(2q) exp(2k)), so the exponentials of a sentence's keys serve all its queries,
        and what is left for a pair of them is a product, a sum and a reciprocal, all in fp32.

        Args:
            query: (batch, width, attention).
            vector: v, (attention,).

        Returns:
            (batch, width, source length), fp32 or the arithmetic of the keys.
        """
        if self.doubled is None or float(query.abs().amax()) > _GREATEST:
            hidden = self.keys.unsqueeze(1) + query.unsqueeze(2)
            return torch.matmul(hidden.tanh_(), vector)
        batch, width, _ = query.shape
        length, attention = self.doubled.shape[1:]
        sentences = max(1, _ELEMENTS_AT_ONCE // max(1, width * length * attention))
        queries, weights = torch.exp(2.0 * query.float()).unsqueeze(2), -2.0 * vector.float()
        result = torch.empty((batch, width, length), device=query.device)
        scratch = torch.empty((min(sentences, batch), width, length, attention), device=query.device)
        for start in range(0, batch, sentences):
            keys = self.doubled[start : start + sentences].unsqueeze(1)
            hidden = torch.mul(keys, queries[start : start + sentences], out=scratch[: keys.shape[0]])
            hidden.add_(1.0).reciprocal_()
            torch.matmul(hidden, weights, out=result[start : start + sentences])
        return result

"""The layers that RNNsearch's encoder and decoder both have: the gated recurrent unit and the dropout of words."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from .matrix_products import affine


class RnnSearchGru(nn.Module):
    """One gated recurrent layer in the reference's form.

    r = σ(W_r x + U_r h), z = σ(W_z x + U_z h), h~ = tanh(W x + U (r ⊙ h) + b), h' = z ⊙ h~ + (1 - z) ⊙ h.
    The reset gate acts before the recurrent matrix and only the candidate has a bias, so `torch.nn.GRU` is not this
    layer.
    """

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__()
        self.hidden_size = hidden_size
        self.input_weight = nn.Parameter(torch.empty(3 * hidden_size, input_size))
        self.gate_weight = nn.Parameter(torch.empty(2 * hidden_size, hidden_size))
        self.candidate_weight = nn.Parameter(torch.empty(hidden_size, hidden_size))
        self.candidate_bias = nn.Parameter(torch.empty(hidden_size))

    def project_inputs(self, inputs: Tensor) -> Tensor:
        """Computes the inputs' part of the pre-activations, (…, 3 * hidden) in the order reset, update, candidate."""
        projected = affine(inputs, self.input_weight)
        bias = torch.cat([self.candidate_bias.new_zeros(2 * self.hidden_size), self.candidate_bias])
        return projected + bias.to(projected.dtype)

    def step(self, projected: Tensor, state: Tensor, gates: Tensor | None = None) -> Tensor:
        """Takes one step.

        Args:
            projected: All that does not come from the state, (rows, 3 * hidden).
            state: The previous state, (rows, hidden).
            gates: The state's part of the gates' pre-activations, (rows, 2 * hidden), if it is known already.
        """
        if gates is None:
            gates = affine(state, self.gate_weight)
        from_gates, from_candidate = projected.split([2 * self.hidden_size, self.hidden_size], dim=-1)
        reset, update = torch.sigmoid(from_gates + gates).chunk(2, dim=-1)
        candidate = torch.tanh(from_candidate + affine(reset * state, self.candidate_weight))
        return torch.lerp(state, candidate.to(state.dtype), update.to(state.dtype))


class RnnSearchWordDropout(nn.Module):
    """Leaves out whole word embeddings while training and scales up the others (Gal and Ghahramani 2016 §4.2)."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, embedded: Tensor) -> Tensor:
        """Drops embeddings, (rows, length, embedding)."""
        if not self.training or not self.rate:
            return embedded
        return embedded * functional.dropout(embedded.new_ones(embedded.shape[:2]), self.rate).unsqueeze(-1)

"""A bidirectional GRU over packed sentences, of which only the last states are wanted."""

from __future__ import annotations

from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn.utils.rnn import PackedSequence
from transformers import initialization

from .matrix_products import affine


class Packing(Protocol):
    """What the layer needs to know of packed sentences: `PackedSentences` has it."""

    @property
    def batch_sizes(self) -> list[int]:
        """How many sentences still run at each step."""

    def last(self, vectors: Tensor) -> Tensor:
        """Returns the packed vector (total, dim) of the last token of each sentence (batch, dim)."""

    def reversal(self) -> Tensor:
        """Computes the packed place of the mirror image of each packed token in its sentence (total,)."""

    def previous(self, values: Tensor) -> Tensor:
        """Returns the packed values (total, dim) one step earlier of every token behind the first step."""


class BidirectionalGru(nn.GRU):
    """`torch.nn.GRU` with one layer and two directions, which reads packed sentences and gives their last states.

        r_t = sigmoid(W_r x_t + b_r + U_r h_{t-1} + c_r)
        z_t = sigmoid(W_z x_t + b_z + U_z h_{t-1} + c_z)
        n_t = tanh(W_n x_t + b_n + r_t * (U_n h_{t-1} + c_n))
        h_t = (1 - z_t) * n_t + z_t * h_{t-1}

    (Cho et al. 2014, with the reset gate behind the recurrent product.) Parameters and results are those of the base
    class. In fp32 on a processor the steps are computed here, with a gradient whose products over all tokens are taken
    at once; elsewhere the base class computes them.

    Args:
        input_size: The dimension of x_t.
        size: The dimension of h_t in each direction.
    """

    def __init__(self, input_size: int, size: int) -> None:
        super().__init__(input_size, size, bidirectional=True)

    def last_states(self, vectors: Tensor, sentences: Packing) -> Tensor:
        """Computes the states behind the last word of each direction, side by side.

        Args:
            vectors: Packed word vectors (total, input size).
            sentences: Where the words of which sentence are.

        Returns:
            (batch, 2 * size), the forward direction's first; zero for a sentence without words.
        """
        if not sentences.batch_sizes:
            return torch.cat([sentences.last(vectors.new_zeros(0, self.hidden_size))] * 2, dim=1)
        if (
            vectors.device.type != "cpu"
            or vectors.dtype != torch.float32
            or torch.is_autocast_enabled("cpu")
            or torch.compiler.is_compiling()
        ):
            sizes = torch.tensor(sentences.batch_sizes)
            states = super().forward(PackedSequence(vectors, sizes))[0].data
            # The backward direction ends at the first word, where its packed order starts again.
            first = states[sentences.reversal(), self.hidden_size :]
            return torch.cat([sentences.last(states[:, : self.hidden_size]), sentences.last(first)], dim=1)
        ends = []
        for suffix, inputs in (("", vectors), ("_reverse", vectors[sentences.reversal()])):
            weights = (
                getattr(self, f"{name}_l0{suffix}") for name in ("weight_ih", "bias_ih", "weight_hh", "bias_hh")
            )
            weight_input, bias_input, weight_state, bias_state = weights
            gates = affine(inputs, weight_input, bias_input)
            ends.append(sentences.last(_GruSteps.apply(gates, weight_state, bias_state, sentences)))
        return torch.cat(ends, dim=1)


@torch.no_grad()
def initialize_gru(layer: nn.GRU) -> None:
    """Draws initial weights gate by gate: those of the input Xavier uniform, those of the state orthogonal, biases 0.

    Paper 002 does not say how its weights start.
    """
    for name, parameter in layer.named_parameters(recurse=False):
        if name.startswith("bias"):
            initialization.zeros_(parameter)
            continue
        values = torch.empty_like(parameter)
        for block in values.split(layer.hidden_size):
            if name.startswith("weight_hh"):
                initialization.orthogonal_(block)
            else:
                initialization.xavier_uniform_(block)
        initialization.copy_(parameter, values)


class _GruSteps(torch.autograd.Function):
    """The recurrence of one direction, with its gradient."""

    # Going back step by step leaves only what depends on the step behind it; all products for the gradients of the
    # parameters are taken once, over all tokens.

    @staticmethod
    def forward(ctx: Any, gates: Tensor, weight_state: Tensor, bias_state: Tensor, packing: Packing) -> Tensor:
        size = weight_state.shape[1]
        reset_update = torch.empty_like(gates[:, : 2 * size])
        candidates, of_candidates, states = (torch.empty_like(gates[:, :size]) for _ in range(3))
        start = 0
        state = gates.new_zeros(packing.batch_sizes[0], size)
        for number in packing.batch_sizes:
            rows = slice(start, start + number)
            state = state[:number]
            recurrent = affine(state, weight_state, bias_state) if start else bias_state.expand(number, -1)
            opened = torch.add(gates[rows, : 2 * size], recurrent[:, : 2 * size], out=reset_update[rows]).sigmoid_()
            of_candidates[rows] = recurrent[:, 2 * size :]
            now = torch.addcmul(gates[rows, 2 * size :], opened[:, :size], recurrent[:, 2 * size :]).tanh_()
            candidates[rows] = now
            state = torch.lerp(now, state, opened[:, size:])
            states[rows] = state
            start += number
        ctx.save_for_backward(weight_state, reset_update, candidates, of_candidates, states)
        ctx.packing = packing
        return states

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, of_states: Tensor) -> tuple[Tensor | None, ...]:
        weight_state, reset_update, candidates, of_candidates, states = ctx.saved_tensors
        batch_sizes, size = ctx.packing.batch_sizes, weight_state.shape[1]
        first = batch_sizes[0]
        entering = ctx.packing.previous(states)
        before = torch.cat([torch.zeros_like(states[:first]), entering])
        reset, update = reset_update.split(size, dim=1)
        # The derivatives of h_t by the three parts of U h_{t-1} + c, and by what W x_t + b adds to the candidate.
        of_input = (1 - update) * (1 - candidates * candidates)
        factors = torch.empty(states.shape[0], 3 * size, dtype=states.dtype)
        torch.mul(of_input * of_candidates, reset * (1 - reset), out=factors[:, :size])
        torch.mul(before - candidates, update * (1 - update), out=factors[:, size : 2 * size])
        torch.mul(of_input, reset, out=factors[:, 2 * size :])
        of_states = of_states.clone(memory_format=torch.contiguous_format)
        # From here on `factors` becomes the gradient by U h_{t-1} + c, and `of_states` that by the whole of h_t.
        transposed = weight_state.t()
        end = factors.shape[0]
        for step in range(len(batch_sizes) - 1, -1, -1):
            start = end - batch_sizes[step]
            of_state = of_states[start:end]
            now = factors[start:end]
            now.unflatten(1, (3, size)).mul_(of_state.unsqueeze(1))
            if start:
                earlier = start - batch_sizes[step - 1]
                of_earlier = of_states[earlier : earlier + end - start]
                of_earlier.addcmul_(of_state, update[start:end])
                of_earlier += affine(now, transposed)
            end = start
        of_gates = torch.cat([factors[:, : 2 * size], of_input.mul_(of_states)], dim=1)
        of_weights = affine(factors[first:].t(), entering.t()) if len(entering) else torch.zeros_like(weight_state)
        return of_gates, of_weights, factors.sum(0), None

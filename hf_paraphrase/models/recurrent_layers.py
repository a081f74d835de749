"""Recurrent layers over packed sentences and their initial weights, shared by the recurrent encoders."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional
from transformers import initialization

from .matrix_products import affine

_STANDARD_DEVIATION = 0.1


class Packing(Protocol):
    """What a layer must know of the order of its inputs: `PackedSentences`.

    (What a file that travels with weights imports, the model's own file must import too, so the fewer the better.)
    """

    batch_sizes: list[int]

    def pad(self, vectors: Tensor) -> Tensor:
        """Returns packed vectors (total, dim) as (steps, sentences, dim)."""

    def unpad(self, vectors: Tensor) -> Tensor:
        """The other way round."""

    def previous(self, values: Tensor) -> Tensor:
        """Returns the packed values (total, dim) one step earlier of every token behind the first step."""


class SingleBiasLstm(nn.Module):
    """An LSTM with one bias for each gate, as it is written in papers; gates in the order input, forget, cell, output.

        i_t = sigmoid(W_i x_t + U_i h_{t-1} + p_i * c_{t-1} + b_i)
        f_t = sigmoid(W_f x_t + U_f h_{t-1} + p_f * c_{t-1} + b_f)
        c_t = f_t * c_{t-1} + i_t * tanh(W_c x_t + U_c h_{t-1} + b_c)
        o_t = sigmoid(W_o x_t + U_o h_{t-1} + p_o * c_t + b_o)
        h_t = o_t * tanh(c_t)

    with h_0 = c_0 = 0. The diagonal peepholes p (Gers et al. 2002, in the form of Lasagne, which the reference code
    uses) can be left out; so can the output gate, and then h_t = tanh(c_t).

    Without peepholes, with an output gate and without recurrent dropout this is the kernel of `torch.nn.LSTM`. That
    class has two biases that are added to one another, which doubles the step of their sum under Adam; here the
    second is a zero. All else runs in a loop of our own.

    Args:
        input_size: The dimension of x_t.
        size: The dimension of h_t.
        peepholes: Whether there are peepholes.
        output_gate: Whether there is an output gate.
    """

    def __init__(self, input_size: int, size: int, *, peepholes: bool, output_gate: bool) -> None:
        super().__init__()
        gates = 4 if output_gate else 3
        self.size = size
        self.output_gate = output_gate
        self.weight_input = nn.Parameter(torch.empty(gates * size, input_size))
        self.weight_state = nn.Parameter(torch.empty(gates * size, size))
        self.bias = nn.Parameter(torch.empty(gates * size))
        # Of the gates i, f and o.
        self.peepholes = nn.Parameter(torch.empty(gates - 1, size)) if peepholes else None

    def forward(
        self,
        vectors: Tensor,
        packing: Packing,
        recurrent_mask: Tensor | None = None,
        places: Tensor | None = None,
    ) -> Tensor:
        """Computes the hidden states.

        Args:
            vectors: Packed inputs x_t (total, input_size), or different ones (inputs, input_size).
            packing: Their order.
            recurrent_mask: Factors of the state that enters the products with U, the same at every step (sentences by
                rank, size); None for 1.
            places: Which of the vectors each x_t is (total,); None for one after the other. Without gradient only.

        Returns:
            Packed states h_t (total, size).
        """
        if self.peepholes is None and self.output_gate and recurrent_mask is None and places is None:
            return self._fused(vectors, packing)
        weight_input: Tensor = self.weight_input
        weight_state: Tensor = self.weight_state
        bias: Tensor = self.bias
        peepholes: Tensor | None = self.peepholes
        device = vectors.device.type
        if torch.is_autocast_enabled(device):
            dtype = torch.get_autocast_dtype(device)
            vectors, weight_input, bias = vectors.to(dtype), weight_input.to(dtype), bias.to(dtype)
            weight_state = weight_state.to(dtype)
            peepholes = None if peepholes is None else peepholes.to(dtype)
            recurrent_mask = None if recurrent_mask is None else recurrent_mask.to(dtype)
        if torch.is_grad_enabled():
            states: Tensor = _LstmSteps.apply(
                vectors, weight_input, bias, weight_state, peepholes, recurrent_mask, packing
            )
            return states
        gates = _of_tokens(affine(vectors, weight_input, bias), places)
        return _run_lstm(gates, weight_state, peepholes, recurrent_mask, packing.batch_sizes)[0]

    def _fused(self, vectors: Tensor, packing: Packing) -> Tensor:
        initial = vectors.new_zeros(1, packing.batch_sizes[0], self.size)
        state = (initial, initial)
        weights = [self.weight_input, self.weight_state, self.bias, torch.zeros_like(self.bias)]
        if vectors.device.type != "cpu":
            sizes = torch.tensor(packing.batch_sizes)
            return torch.lstm(vectors, sizes, state, weights, True, 1, 0.0, self.training, False)[0]
        # The packed form has no fast kernel on a CPU. A state depends on earlier words only, so that the padding
        # behind a sentence needs no care.
        padded = packing.pad(vectors)
        # oneDNN has a bfloat16 kernel for some processors only, and under autocast PyTorch asks for it on all.
        exact = torch.is_autocast_enabled("cpu") and not torch.ops.mkldnn._is_mkldnn_bf16_supported()
        with torch.autocast("cpu", enabled=False) if exact else nullcontext():
            return packing.unpad(torch.lstm(padded, state, weights, True, 1, 0.0, self.training, False, False)[0])


def _of_tokens(products: Tensor, places: Tensor | None) -> Tensor:
    return products if places is None else products.index_select(0, places)


def _run_lstm(
    gates: Tensor,
    weight_state: Tensor,
    peepholes: Tensor | None,
    recurrent_mask: Tensor | None,
    batch_sizes: list[int],
) -> tuple[Tensor, Tensor]:
    """Runs the recurrence; `gates` (total, gates * size) is overwritten. Returns states and cells (total, size)."""
    size = weight_state.shape[1]
    output_gate = weight_state.shape[0] == 4 * size
    states = gates.new_empty(gates.shape[0], size)
    cells = torch.empty_like(states)
    state = cell = states
    start = 0
    for number in batch_sizes:
        rows = slice(start, start + number)
        now, input_forget = gates[rows], gates[rows, : 2 * size]
        if start:
            cell = cell[:number]
            entering = state[:number] if recurrent_mask is None else state[:number] * recurrent_mask[:number]
            now.copy_(affine(entering, weight_state, added=now))
            if peepholes is not None:
                input_forget.unflatten(1, (2, size)).addcmul_(cell.unsqueeze(1), peepholes[:2])
        input_forget.sigmoid_()
        candidate = now[:, 2 * size : 3 * size].tanh_()
        new_cell = torch.mul(input_forget[:, :size], candidate, out=cells[rows])
        if start:
            new_cell.addcmul_(input_forget[:, size:], cell)
        cell, state = new_cell, states[rows]
        if output_gate:
            output = now[:, 3 * size :]
            if peepholes is not None:
                output.addcmul_(cell, peepholes[2])
            torch.mul(output.sigmoid_(), cell.tanh(), out=state)
        else:
            torch.tanh(cell, out=state)
        start += number
    return states, cells


class _LstmSteps(torch.autograd.Function):
    """The recurrence of :class:`SingleBiasLstm` with its gradient."""

    # Going back step by step leaves only what depends on the step behind it; all products for the gradients of the
    # parameters are taken once, over all tokens.

    @staticmethod
    def forward(
        ctx: Any,
        vectors: Tensor,
        weight_input: Tensor,
        bias: Tensor,
        weight_state: Tensor,
        peepholes: Tensor | None,
        recurrent_mask: Tensor | None,
        packing: Packing,
    ) -> Tensor:
        gates = affine(vectors, weight_input, bias)
        states, cells = _run_lstm(gates, weight_state, peepholes, recurrent_mask, packing.batch_sizes)
        ctx.save_for_backward(vectors, weight_input, weight_state, peepholes, recurrent_mask, gates, states, cells)
        ctx.packing = packing
        return states

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, of_states: Tensor) -> tuple[Tensor | None, ...]:
        vectors, weight_input, weight_state, peepholes, recurrent_mask, gates, states, cells = ctx.saved_tensors
        batch_sizes, size = ctx.packing.batch_sizes, weight_state.shape[1]
        output_gate = weight_state.shape[0] == 4 * size
        first = batch_sizes[0]
        previous_cells = torch.cat([torch.zeros_like(cells[:first]), ctx.packing.previous(cells)])
        # The derivatives of c_t and h_t by the gates before their sigmoid or tanh, and of h_t by c_t.
        by_cell = cells.tanh()
        factors = torch.empty_like(gates)
        into, forget, candidate = gates[:, : 3 * size].split(size, dim=1)
        torch.mul(into * (1 - into), candidate, out=factors[:, :size])
        torch.mul(forget * (1 - forget), previous_cells, out=factors[:, size : 2 * size])
        torch.mul(1 - candidate * candidate, into, out=factors[:, 2 * size : 3 * size])
        if output_gate:
            output = gates[:, 3 * size :]
            torch.mul(output * (1 - output), by_cell, out=factors[:, 3 * size :])
            by_cell = output * (1 - by_cell * by_cell)
        else:
            by_cell = 1 - by_cell * by_cell
        of_states = of_states.clone(memory_format=torch.contiguous_format)
        # From here on `factors` becomes the gradient by the gates before their sigmoid or tanh.
        of_cell = states[:0]
        end = gates.shape[0]
        for step in range(len(batch_sizes) - 1, -1, -1):
            start = end - batch_sizes[step]
            now, of_state = factors[start:end], of_states[start:end]
            of_later, of_cell = of_cell, of_state * by_cell[start:end]
            of_cell[: of_later.shape[0]] += of_later
            if output_gate:
                now[:, 3 * size :].mul_(of_state)
                if peepholes is not None:
                    of_cell.addcmul_(now[:, 3 * size :], peepholes[2])
            now[:, : 3 * size].unflatten(1, (3, size)).mul_(of_cell.unsqueeze(1))
            if start:
                entering = affine(now, weight_state.t())
                if recurrent_mask is not None:
                    entering *= recurrent_mask[: end - start]
                before = start - batch_sizes[step - 1]
                of_states[before : before + end - start] += entering
                of_cell = of_cell * forget[start:end]
                if peepholes is not None:
                    of_cell.addcmul_(now[:, :size], peepholes[0]).addcmul_(now[:, size : 2 * size], peepholes[1])
            end = start
        entering = ctx.packing.previous(states)
        if recurrent_mask is not None:
            entering = entering * torch.cat([states[:0], *(recurrent_mask[:number] for number in batch_sizes[1:])])
        of_peepholes: Tensor | None = None
        if peepholes is not None:
            sums = [(factors[:, :size] * previous_cells).sum(0), (factors[:, size : 2 * size] * previous_cells).sum(0)]
            if output_gate:
                sums.append((factors[:, 3 * size :] * cells).sum(0))
            of_peepholes = torch.stack(sums)
        return (
            affine(factors, weight_input.t()) if ctx.needs_input_grad[0] else None,
            affine(factors.t(), vectors.t()),
            factors.sum(0),
            affine(factors[first:].t(), entering.t()),
            of_peepholes,
            None,
            None,
        )


class BiaslessGateGru(nn.Module):
    """The GRU of paper 003, section 3.1: no biases in the gates, a leaky ReLU for the candidate state.

        r_t = sigmoid(W_r x_t + U_r h_{t-1})
        z_t = sigmoid(W_z x_t + U_z h_{t-1})
        h_t = (1 - z_t) * h_{t-1} + z_t * f(W_h x_t + U_h (r_t * h_{t-1}) + b_h)

    `torch.nn.GRU` differs in three ways: its gates have biases, its reset gate acts after the recurrent product, and f
    is tanh.

    Args:
        input_size: The dimension of x_t.
        size: The dimension of h_t.
        activation: f, `leaky_relu` or `tanh`.
        negative_slope: The slope of the leaky ReLU below zero.
    """

    def __init__(self, input_size: int, size: int, *, activation: str, negative_slope: float) -> None:
        super().__init__()
        self.size = size
        self.leaky = activation == "leaky_relu"
        self.negative_slope = negative_slope
        # One matrix each, (reset, update, candidate) below one another: a single product serves all steps.
        self.weight_input = nn.Parameter(torch.empty(3 * size, input_size))
        self.weight_gates = nn.Parameter(torch.empty(2 * size, size))
        self.weight_candidate = nn.Parameter(torch.empty(size, size))
        self.bias_candidate = nn.Parameter(torch.empty(size))

    def forward(
        self,
        vectors: Tensor,
        packing: Packing,
        recurrent_mask: Tensor | None = None,
        places: Tensor | None = None,
    ) -> Tensor:
        """Computes the hidden states; see :meth:`SingleBiasLstm.forward`."""
        size = self.size
        of_gates = _of_tokens(affine(vectors, self.weight_input[: 2 * size]), places)
        of_candidates = _of_tokens(affine(vectors, self.weight_input[2 * size :], self.bias_candidate), places)
        steps = (of_gates.split(packing.batch_sizes), of_candidates.split(packing.batch_sizes))
        states: list[Tensor] = []
        for gates, candidate in zip(*steps, strict=True):
            if not states:
                states.append(torch.sigmoid(gates[:, size:]) * self._activation(candidate))
                continue
            state = states[-1][: gates.shape[0]]
            entering = state if recurrent_mask is None else state * recurrent_mask[: gates.shape[0]]
            gates = affine(entering, self.weight_gates, added=gates).sigmoid()
            reset, update = gates.chunk(2, dim=1)
            candidate = self._activation(affine(reset * entering, self.weight_candidate, added=candidate))
            states.append(torch.lerp(state, candidate, update))
        return torch.cat(states)

    def _activation(self, values: Tensor) -> Tensor:
        return functional.leaky_relu(values, self.negative_slope) if self.leaky else values.tanh()


def make_cell(config: Any, input_size: int, size: int) -> SingleBiasLstm | BiaslessGateGru:
    """Makes the recurrent layer that a configuration asks for."""
    if config.cell == "lstm":
        return SingleBiasLstm(input_size, size, peepholes=config.peepholes, output_gate=config.output_gate)
    return BiaslessGateGru(
        input_size, size, activation=config.candidate_activation, negative_slope=config.negative_slope
    )


@torch.no_grad()
def initialize_layer(module: nn.Module, *, xavier: bool) -> None:
    """Draws the initial weights of a recurrent or linear layer; all biases are 0, the forget gate's too.

    Args:
        module: The layer; any other module is left alone.
        xavier: Xavier uniform for each matrix (paper 003, section 3.2), else N(0, 0.1) for the matrices and the
            peepholes (the reference code of paper 000).
    """
    if not isinstance(module, (SingleBiasLstm, BiaslessGateGru, nn.Linear)):
        return
    for name, parameter in module.named_parameters(recurse=False):
        if name.startswith("bias"):
            initialization.zeros_(parameter)
        elif xavier and name != "peepholes":
            # Stacked matrices are drawn one by one, each with its own bound.
            rows = parameter.shape[0] if isinstance(module, nn.Linear) else module.size
            values = torch.empty_like(parameter)
            for block in values.split(rows):
                initialization.xavier_uniform_(block)
            initialization.copy_(parameter, values)
        else:
            initialization.normal_(parameter, 0.0, _STANDARD_DEVIATION)


@torch.no_grad()
def initialize_word_vectors(embeddings: nn.Parameter, config: Any) -> None:
    """Draws the initial word vectors; that of padding is zero.

    Args:
        embeddings: The vectors (words, dim).
        config: Its `initializer_range` is the standard deviation, or with the cell `gru` the bound of a uniform
            distribution (paper 003, section 3.2).
    """
    vectors = torch.empty_like(embeddings)
    bound = config.initializer_range
    if config.cell == "gru":
        vectors.uniform_(-bound, bound)
    else:
        vectors.normal_(0.0, bound)
    if config.pad_token_id is not None:
        vectors[config.pad_token_id] = 0.0
    initialization.copy_(embeddings, vectors)

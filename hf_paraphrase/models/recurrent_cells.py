"""Recurrent cells, one per equation, and the packed order in which they read a batch; saved with the weights."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional


@dataclass(frozen=True)
class PackedSentences:
    """The packed order of a batch: the first tokens of all sentences, then the second tokens, and so on.

    Within a step the longest sentences come first. This is the order of `torch.nn.utils.rnn.PackedSequence`.

    Attributes:
        shape: The shape of the padded batch, (batch, length).
        tokens: The flat index of each packed token in the padded batch (total,).
        slots: step * (sentences with a token) + rank for each packed token (total,).
        batch_sizes: The number of sentences with a token at each step.
        starts: The packed index of the first token of each step (steps,).
        ranks: The rank of each sentence by length (batch,).
        lengths: The number of counted tokens of each sentence (batch,).
        ranked_lengths: The lengths by rank, without zeros.
    """

    shape: tuple[int, int]
    tokens: Tensor
    slots: Tensor
    batch_sizes: list[int]
    starts: Tensor
    ranks: Tensor
    lengths: Tensor
    ranked_lengths: Tensor

    @classmethod
    def of_mask(cls, counted: Tensor) -> PackedSentences:
        """Pack a mask (batch, length); padding may be on any side or between tokens."""
        lengths = counted.sum(1)
        ranked_lengths, order = lengths.sort(descending=True, stable=True)
        ranks = order.argsort()
        rows, columns = counted.nonzero(as_tuple=True)
        steps = (counted.cumsum(1) - 1)[rows, columns]
        sizes = steps.bincount()
        batch_sizes: list[int] = sizes.tolist()
        sentences = batch_sizes[0] if batch_sizes else 0
        slots, by_step = (steps * sentences + ranks[rows]).sort()
        tokens = (rows * counted.shape[1] + columns)[by_step]
        shape, starts = (counted.shape[0], counted.shape[1]), sizes.cumsum(0) - sizes
        return cls(shape, tokens, slots, batch_sizes, starts, ranks, lengths, ranked_lengths[:sentences])

    @property
    def rank_of_token(self) -> Tensor:
        """The rank of the sentence of each packed token (total,)."""
        return self.slots % self.batch_sizes[0] if self.batch_sizes else self.slots

    def pack(self, values: Tensor) -> Tensor:
        """Pack values (batch, length) to (total,)."""
        return values.flatten()[self.tokens]

    def unpack(self, vectors: Tensor, shown: Tensor | None = None) -> Tensor:
        """Unpack vectors (total, dim) to their tokens (batch, length, dim), with zeros elsewhere.

        `shown` is a mask (batch, length) of more tokens than the counted ones. The vectors are scaled so that their
        mean over the shown tokens is the mean over the counted tokens.
        """
        flat = vectors.new_zeros(self.shape[0] * self.shape[1], vectors.shape[1])
        unpacked = flat.index_copy(0, self.tokens, vectors).unflatten(0, self.shape)
        if shown is None:
            return unpacked
        return unpacked * (shown.sum(1) / self.lengths.clamp_min(1)).view(-1, 1, 1).to(vectors.dtype)

    def mean(self, vectors: Tensor) -> Tensor:
        """Compute the mean of the packed vectors (total, dim) of each sentence (batch, dim); zero without any."""
        return self.by_row(self.pad(vectors).sum(0)) / self.lengths.clamp_min(1).unsqueeze(1).to(vectors.dtype)

    def by_row(self, vectors: Tensor) -> Tensor:
        """Reorder vectors of sentences from ranks to rows (batch, dim); zero without tokens."""
        # Sentences without tokens have the last ranks.
        return functional.pad(vectors, (0, 0, 0, len(self.ranks) - len(vectors)))[self.ranks]

    def last(self, vectors: Tensor) -> Tensor:
        """Return the packed vector (total, dim) of the last token of each sentence (batch, dim); zero without any."""
        ranks = torch.arange(len(self.ranked_lengths), device=self.ranks.device)
        return self.by_row(vectors[self.starts[self.ranked_lengths - 1] + ranks])

    def reversal(self) -> Tensor:
        """Compute the packed index of each token in the reversed sentence (total,)."""
        if not self.batch_sizes:
            return self.slots
        steps = self.slots // self.batch_sizes[0]
        return self.starts[self.ranked_lengths[self.rank_of_token] - 1 - steps] + self.rank_of_token

    def token_increments(self, states: Tensor) -> Tensor:
        """Compute n (h_t - h_{t-1}) for packed states (total, dim) of sentences of n tokens, with h_0 = 0.

        The mean over a sentence is its last state.
        """
        if not self.batch_sizes:
            return states
        steps = states.split(self.batch_sizes)
        previous = [before[: len(now)] for before, now in pairwise(steps)]
        differences = states - torch.cat([torch.zeros_like(steps[0]), *previous])
        return differences * self.ranked_lengths[self.rank_of_token].unsqueeze(1).to(states.dtype)

    def pad(self, vectors: Tensor) -> Tensor:
        """Pad packed vectors (total, dim) with zeros to (steps, sentences with a token, dim)."""
        steps, sentences, dim = len(self.batch_sizes), len(self.ranked_lengths), vectors.shape[1]
        flat = vectors.new_zeros(steps * sentences, dim)
        return flat.index_copy(0, self.slots, vectors).reshape(steps, sentences, dim)

    def unpad(self, vectors: Tensor) -> Tensor:
        """Undo :meth:`pad`."""
        return vectors.flatten(0, 1)[self.slots]


class SingleBiasLstm(nn.Module):
    """An LSTM with one bias per gate, as in papers; gates in the order input, forget, cell, output.

        i_t = sigmoid(W_i x_t + U_i h_{t-1} + p_i * c_{t-1} + b_i)
        f_t = sigmoid(W_f x_t + U_f h_{t-1} + p_f * c_{t-1} + b_f)
        c_t = f_t * c_{t-1} + i_t * tanh(W_c x_t + U_c h_{t-1} + b_c)
        o_t = sigmoid(W_o x_t + U_o h_{t-1} + p_o * c_t + b_o)
        h_t = o_t * tanh(c_t)

    with h_0 = c_0 = 0. The diagonal peepholes p (Gers et al. 2002, as in Lasagne) are optional. Without an output
    gate, h_t = tanh(c_t).

    Without peepholes, with an output gate and without recurrent dropout the kernel of `torch.nn.LSTM` computes the
    states. That class adds two biases, which doubles the step of their sum under Adam. Here the second is zero.
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

    def forward(self, vectors: Tensor, packing: PackedSentences, recurrent_mask: Tensor | None = None) -> Tensor:
        """Compute packed states h_t (total, size) from packed inputs x_t (total, input_size).

        `recurrent_mask` (sentences by rank, size) multiplies the state in the products with U at every step; None is
        1.
        """
        if self.peepholes is None and self.output_gate and recurrent_mask is None:
            return self._fused(vectors, packing)
        size, peepholes = self.size, self.peepholes
        states: list[Tensor] = []
        cell = vectors
        for gates in functional.linear(vectors, self.weight_input, self.bias).split(packing.batch_sizes):
            if states:
                state, cell = states[-1][: len(gates)], cell[: len(gates)]
                entering = state if recurrent_mask is None else state * recurrent_mask[: len(gates)]
                gates = gates + functional.linear(entering, self.weight_state)
            input_forget, candidate, *output = gates.split([2 * size, *[size] * (gates.shape[1] // size - 2)], dim=1)
            if states and peepholes is not None:
                input_forget = input_forget + (cell.unsqueeze(1) * peepholes[:2]).flatten(1)
            into, forget = input_forget.sigmoid().chunk(2, dim=1)
            new_cell = into * candidate.tanh()
            cell = torch.addcmul(new_cell, forget, cell) if states else new_cell
            if not output:
                states.append(cell.tanh())
                continue
            last_gate = output[0] if peepholes is None else torch.addcmul(output[0], cell, peepholes[2])
            states.append(last_gate.sigmoid() * cell.tanh())
        return torch.cat(states)

    def _fused(self, vectors: Tensor, packing: PackedSentences) -> Tensor:
        initial = vectors.new_zeros(1, packing.batch_sizes[0], self.size)
        weights = [self.weight_input, self.weight_state, self.bias, torch.zeros_like(self.bias)]
        # Padded, because a CPU has no fast kernel for the packed form, and not every CPU has one for bfloat16.
        with torch.autocast("cpu", enabled=False):
            states = torch.lstm(
                packing.pad(vectors), (initial, initial), weights, True, 1, 0.0, self.training, False, False
            )[0]
        return packing.unpad(states)


class BiaslessGateGru(nn.Module):
    """The GRU of Cho et al. (2014) without biases in the gates, for RNNsearch and GRAN.

        r_t = sigmoid(W_r x_t + U_r h_{t-1})
        z_t = sigmoid(W_z x_t + U_z h_{t-1})
        h_t = (1 - z_t) * h_{t-1} + z_t * f(W_h x_t + U_h (r_t * h_{t-1}) + b_h)

    GRAN uses a leaky ReLU for f. In `torch.nn.GRU` the gates have biases, the reset gate acts after the recurrent
    product, and f is always tanh.
    """

    names: ClassVar[tuple[str, str, str, str]] = ("weight_input", "weight_gates", "weight_candidate", "bias_candidate")
    """The names of the parameters in a model folder."""

    def __init__(self, input_size: int, size: int, *, activation: str = "tanh", negative_slope: float = 0.2) -> None:
        super().__init__()
        self.size = size
        self.leaky = activation == "leaky_relu"
        self.negative_slope = negative_slope
        # One matrix for (reset, update, candidate): a single product serves all steps.
        shapes = ((3 * size, input_size), (2 * size, size), (size, size), (size,))
        for name, shape in zip(self.names, shapes, strict=True):
            self.register_parameter(name, nn.Parameter(torch.empty(shape)))

    @property
    def weights(self) -> list[nn.Parameter]:
        """The matrices of the inputs, of the state for the gates and for the candidate, and the candidate's bias."""
        return [getattr(self, name) for name in self.names]

    @property
    def input_bias(self) -> Tensor:
        """The biases of (reset, update, candidate), zero for both gates (3 * size,)."""
        bias = self.weights[3]
        return torch.cat([bias.new_zeros(2 * self.size), bias])

    def project_inputs(self, inputs: Tensor) -> Tensor:
        """Project inputs (..., input_size) for the steps that read them (..., 3 * size)."""
        return functional.linear(inputs, self.weights[0], self.input_bias)

    def forward(self, vectors: Tensor, packing: PackedSentences, recurrent_mask: Tensor | None = None) -> Tensor:
        """Compute the hidden states; see :meth:`SingleBiasLstm.forward`."""
        size, states = self.size, list[Tensor]()
        for projected in self.project_inputs(vectors).split(packing.batch_sizes):
            if not states:
                states.append(torch.sigmoid(projected[:, size : 2 * size]) * self.activate(projected[:, 2 * size :]))
                continue
            state = states[-1][: len(projected)]
            entering = state if recurrent_mask is None else state * recurrent_mask[: len(projected)]
            gates = functional.linear(entering, self.weights[1])
            states.append(self.step(projected, gates, state, self.weights[2], entering))
        return torch.cat(states)

    def step(
        self,
        projected: Tensor,
        gates: Tensor | None,
        state: Tensor,
        weight_candidate: Tensor,
        entering: Tensor | None = None,
    ) -> Tensor:
        """Compute h_t (rows, size) from `state`, h_{t-1}, and `entering`, h_{t-1} after dropout.

        `projected` are the pre-activations without the state's part (rows, 3 * size), `gates` the state's part of the
        gates (rows, 2 * size), None if `projected` includes it. `weight_candidate` is U_h in the state's precision.
        """
        of_gates, of_candidate = projected.split([2 * self.size, self.size], dim=-1)
        reset, update = (of_gates if gates is None else of_gates + gates).sigmoid().chunk(2, dim=-1)
        entering = state if entering is None else entering
        candidate = self.activate(of_candidate + functional.linear(reset * entering, weight_candidate))
        return torch.lerp(state, candidate.to(state.dtype), update.to(state.dtype))

    def activate(self, values: Tensor) -> Tensor:
        """Apply f."""
        return functional.leaky_relu(values, self.negative_slope) if self.leaky else values.tanh()


class SingleBiasGru(nn.Module):
    """The GRU of Hill, Cho and Korhonen (2016): `torch.nn.GRU` with one bias per gate and a context.

        r_t = sigmoid(W_r x_t + C_r c + b_r + U_r h_{t-1})
        z_t = sigmoid(W_z x_t + C_z c + b_z + U_z h_{t-1})
        n_t = tanh(W_n x_t + C_n c + b_n + r_t * (U_n h_{t-1}))
        h_t = (1 - z_t) * n_t + z_t * h_{t-1}

    The context c is the same at every step of a sentence. Without a context, C is left out.
    """

    def __init__(self, input_size: int, size: int, context_size: int | None = None) -> None:
        super().__init__()
        self.size = size
        # One matrix for (reset, update, candidate).
        self.weight_input = nn.Parameter(torch.empty(3 * size, input_size))
        self.weight_state = nn.Parameter(torch.empty(3 * size, size))
        self.weight_context = None if context_size is None else nn.Parameter(torch.empty(3 * size, context_size))
        self.bias = nn.Parameter(torch.empty(3 * size))

    def forward(
        self, vectors: Tensor, packing: PackedSentences, initial: Tensor | None = None, context: Tensor | None = None
    ) -> Tensor:
        """Compute packed states h_t (total, size) from packed inputs x_t (total, input_size).

        `initial` is h_0 (sentences by rank, size), zeros for None, and `context` c (sentences by rank, context_size).
        Under autocast the products have the lower precision. States and gates stay fp32, because small changes of a
        state would be rounded to nothing.
        """
        size, dtype = self.size, vectors.dtype
        if not packing.batch_sizes:
            return vectors.new_zeros(0, size)
        inputs = functional.linear(vectors, self.weight_input, self.bias).to(dtype)
        added: Tensor | None = None
        if self.weight_context is not None:
            assert context is not None
            added = functional.linear(context, self.weight_context).to(dtype)
        state = vectors.new_zeros(packing.batch_sizes[0], size) if initial is None else initial.to(dtype)
        states: list[Tensor] = []
        for gates in inputs.split(packing.batch_sizes):
            state = state[: len(gates)]
            if added is not None:
                gates = gates + added[: len(gates)]
            of_state, of_candidate = functional.linear(state, self.weight_state).to(dtype).split([2 * size, size], 1)
            reset_update, candidate = gates.split([2 * size, size], 1)
            reset, update = (reset_update + of_state).sigmoid().chunk(2, dim=1)
            candidate = torch.addcmul(candidate, reset, of_candidate).tanh()
            state = torch.lerp(candidate, state, update)
            states.append(state)
        return torch.cat(states)

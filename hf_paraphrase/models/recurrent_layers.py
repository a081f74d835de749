"""Recurrent layers over packed sentences and their initial weights, shared by the models with recurrent networks."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from .packed_sentences import PackedSentences
from .word_vectors import WordVectorModel


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
    class adds two biases, which doubles the step of their sum under Adam; here the second is zero.
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
        """Computes packed states h_t (total, size) from packed inputs x_t (total, input_size).

        `recurrent_mask` (sentences by rank, size) are factors of the state that enters the products with U, the same
        at every step; None for 1.
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
        # Padded, for a CPU has no fast kernel for the packed form. A state depends on earlier words only, so padding
        # behind a sentence does no harm. Not every CPU has a kernel for the bfloat16 of autocast.
        with torch.autocast("cpu", enabled=False):
            states = torch.lstm(
                packing.pad(vectors), (initial, initial), weights, True, 1, 0.0, self.training, False, False
            )[0]
        return packing.unpad(states)


class BiaslessGateGru(nn.Module):
    """The GRU of paper 003, section 3.1: no biases in the gates, a leaky ReLU for the candidate state.

        r_t = sigmoid(W_r x_t + U_r h_{t-1})
        z_t = sigmoid(W_z x_t + U_z h_{t-1})
        h_t = (1 - z_t) * h_{t-1} + z_t * f(W_h x_t + U_h (r_t * h_{t-1}) + b_h)

    `torch.nn.GRU` differs in three ways: its gates have biases, its reset gate acts after the recurrent product, and f
    is tanh.
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

    def forward(self, vectors: Tensor, packing: PackedSentences, recurrent_mask: Tensor | None = None) -> Tensor:
        """Computes the hidden states; see :meth:`SingleBiasLstm.forward`."""
        size = self.size
        of_gates = functional.linear(vectors, self.weight_input[: 2 * size]).split(packing.batch_sizes)
        of_candidates = functional.linear(vectors, self.weight_input[2 * size :], self.bias_candidate)
        states: list[Tensor] = []
        for gates, candidate in zip(of_gates, of_candidates.split(packing.batch_sizes), strict=True):
            if not states:
                states.append(torch.sigmoid(gates[:, size:]) * self._activation(candidate))
                continue
            state = states[-1][: len(gates)]
            entering = state if recurrent_mask is None else state * recurrent_mask[: len(gates)]
            reset, update = (gates + functional.linear(entering, self.weight_gates)).sigmoid().chunk(2, dim=1)
            candidate = candidate + functional.linear(reset * entering, self.weight_candidate)
            states.append(torch.lerp(state, self._activation(candidate), update))
        return torch.cat(states)

    def _activation(self, values: Tensor) -> Tensor:
        return functional.leaky_relu(values, self.negative_slope) if self.leaky else values.tanh()


class SingleBiasGru(nn.Module):
    """The GRU of Hill et al.'s code, which is that of `torch.nn.GRU` with one bias instead of two and a context.

        r_t = sigmoid(W_r x_t + C_r c + b_r + U_r h_{t-1})
        z_t = sigmoid(W_z x_t + C_z c + b_z + U_z h_{t-1})
        n_t = tanh(W_n x_t + C_n c + b_n + r_t * (U_n h_{t-1}))
        h_t = (1 - z_t) * n_t + z_t * h_{t-1}

    The context c is the same at every step of a sentence; without one, C is left out.
    """

    def __init__(self, input_size: int, size: int, context_size: int | None = None) -> None:
        super().__init__()
        self.size = size
        # One matrix each, (reset, update, candidate) below one another.
        self.weight_input = nn.Parameter(torch.empty(3 * size, input_size))
        self.weight_state = nn.Parameter(torch.empty(3 * size, size))
        self.weight_context = None if context_size is None else nn.Parameter(torch.empty(3 * size, context_size))
        self.bias = nn.Parameter(torch.empty(3 * size))

    def forward(
        self, vectors: Tensor, packing: PackedSentences, initial: Tensor | None = None, context: Tensor | None = None
    ) -> Tensor:
        """Computes packed states h_t (total, size) from packed inputs x_t (total, input_size).

        `initial` is h_0 (sentences by rank, size), zeros for None, and `context` c (sentences by rank, context_size).
        Under autocast the products have the lower precision, while states and gates stay fp32: over many steps the
        small changes of a state would be rounded away.
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


class RecurrentWordModel(WordVectorModel):
    """Word vectors under recurrent networks: how all of these start, and what is dropped of them in training.

    `lstm`: all matrices and peepholes N(0, 0.1), all biases 0 (the forget gate's too), as the reference code. `gru`:
    matrices Xavier uniform per gate, biases 0, word vectors uniform in ± `initializer_range` (paper 003).

    Attributes:
        recurrent: The network that reads sentences from their beginning.
        recurrent_backward: The one that reads them from their end; None without.
    """

    def __init__(self, config: Any, embedding_size: int, size: int) -> None:
        super().__init__(config)
        self.embeddings = nn.Parameter(torch.empty(config.vocab_size, embedding_size))
        self.recurrent = make_cell(config, embedding_size, size)
        self.recurrent_backward = make_cell(config, embedding_size, size) if config.bidirectional else None

    def _draw(self, values: Tensor, name: str, rows: int) -> None:
        if self.config.cell == "gru":
            super()._draw(values, name, rows)
        else:
            values.normal_(0.0, 0.1)

    def _dropped(self, vectors: Tensor, sentences: PackedSentences) -> Tensor:
        """Drops what the configuration says of packed word vectors (total, dim), in training; scales the rest up."""
        config = self.config
        if not self.training or not sentences.batch_sizes:
            return vectors
        if config.word_dropout > 0:
            vectors = vectors * functional.dropout(vectors.new_ones(vectors.shape[0], 1), config.word_dropout)
        if config.variational_dropout > 0:
            vectors = vectors * self._mask(vectors, sentences, vectors.shape[1])[sentences.rank_of_token]
        return functional.dropout(vectors, config.dropout)

    def _states(self, vectors: Tensor, sentences: PackedSentences) -> list[Tensor]:
        """Computes the states (total, size) of each network from packed word vectors, in its own reading order.

        In training there is a mask of the state for each sentence.
        """
        cells = [self.recurrent] if self.recurrent_backward is None else [self.recurrent, self.recurrent_backward]
        if not sentences.batch_sizes:
            return [vectors.new_zeros(0, cell.size) for cell in cells]
        drops = self.training and self.config.variational_dropout > 0
        states = []
        for cell in cells:
            read = vectors if cell is self.recurrent else vectors[sentences.reversal()]
            states.append(cell(read, sentences, self._mask(vectors, sentences, cell.size) if drops else None))
        return states

    def _mask(self, like: Tensor, sentences: PackedSentences, size: int) -> Tensor:
        """Draws a factor for each component in all words of a sentence (sentences, size; Gal and Ghahramani 2016)."""
        ones = like.new_ones(sentences.batch_sizes[0], size)
        return functional.dropout(ones, self.config.variational_dropout)


def make_cell(config: Any, input_size: int, size: int) -> SingleBiasLstm | BiaslessGateGru:
    """Makes a recurrent layer as a configuration asks for it."""
    if config.cell == "lstm":
        return SingleBiasLstm(input_size, size, peepholes=config.peepholes, output_gate=config.output_gate)
    return BiaslessGateGru(
        input_size, size, activation=config.candidate_activation, negative_slope=config.negative_slope
    )

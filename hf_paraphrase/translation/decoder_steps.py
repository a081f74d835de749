"""The decoder of an RNNsearch model laid out for decoding step by step: fewer, larger products, nothing repeated.

The energies of its additive attention need one exponential a key and a query instead of one tanh a pair of them.
"""

from __future__ import annotations

import copy
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import linear

from ..models.modeling_rnn_search import RnnSearchForConditionalGeneration

_GREATEST = 40.0
"""Greatest absolute value of keys and queries for which exp(2x) is neither 0 nor infinite in fp32."""
_ELEMENTS_AT_ONCE = 1 << 20
"""Elements of the hidden layer (sentences * width * source length * attention) that are computed together."""


class Annotated(NamedTuple):
    """What is attended to, one row a sentence, laid out for many queries."""

    keys: Tensor
    """(batch, source length, attention)."""
    doubled: Tensor | None
    """exp(2 * keys) in fp32; None where :meth:`energies` takes the hyperbolic tangent itself."""
    values: Tensor
    """(batch, source length, 3 * hidden + readout)."""
    penalty: Tensor
    """What is added to the energies, −inf or nearly for padding, fp32 (batch, source length)."""

    @classmethod
    def prepare(cls, projections: tuple[Tensor, Tensor, Tensor], dtype: torch.dtype) -> Annotated:
        """Formats what the model's decoder projects of a batch's annotations: keys, values and additive mask."""
        keys, values, penalty = projections
        doubled = None
        # On a GPU, looking at the values would wait for all work under way.
        if keys.device.type == "cpu" and float(keys.abs().amax()) <= _GREATEST:
            doubled = torch.exp(2.0 * keys.float())
        return cls(keys.to(dtype), doubled, values.to(dtype), penalty)

    def select(self, rows: Tensor) -> Annotated:
        """Takes over some sentences."""
        doubled = None if self.doubled is None else self.doubled[rows]
        return Annotated(self.keys[rows], doubled, self.values[rows], self.penalty[rows])

    def energies(self, query: Tensor, vector: Tensor) -> Tensor:
        """Computes v · tanh(query + key) up to a constant, which the softmax over the source positions cancels.

        tanh(q + k) = 1 - 2 / (1 + exp(2q) exp(2k)), so the exponentials of a sentence's keys serve all its queries,
        and what is left for a pair of them is a product, a sum and a reciprocal, all in fp32.
        Queries are (batch, width, attention), the result is (batch, width, source length).
        """
        if self.doubled is None or float(query.abs().amax()) > _GREATEST:
            hidden = self.keys.unsqueeze(1) + query.unsqueeze(2)
            return torch.matmul(hidden.tanh_(), vector)
        batch, width, _ = query.shape
        length, attention = self.doubled.shape[1:]
        sentences = max(1, _ELEMENTS_AT_ONCE // (width * length * attention))
        queries, weights = torch.exp(2.0 * query.float()).unsqueeze(2), -2.0 * vector.float()
        result = torch.empty((batch, width, length))
        scratch = torch.empty((min(sentences, batch), width, length, attention))
        for start in range(0, batch, sentences):
            keys = self.doubled[start : start + sentences].unsqueeze(1)
            hidden = torch.mul(keys, queries[start : start + sentences], out=scratch[: keys.shape[0]])
            hidden.add_(1.0).reciprocal_()
            torch.matmul(hidden, weights, out=result[start : start + sentences])
        return result


class Attended(NamedTuple):
    """What follows from a decoder state alone, before the next word is known."""

    state: Tensor
    """s_{i-1}, (rows, hidden)."""
    gates: Tensor
    """The next GRU step's pre-activations without the word's part, (rows, 3 * hidden)."""
    readout: Tensor
    """The readout without the previous word's part, (rows, readout)."""

    def select(self, rows: Tensor) -> Attended:
        """Takes over some rows; the readout has been used by then and is left out."""
        return Attended(self.state.index_select(0, rows), self.gates.index_select(0, rows), self.readout[:0])


class DecoderSteps:
    """Computes the same as :class:`RnnSearchDecoder` and the output layer, one position at a time.

    The weights that multiply the state are joined into one matrix, likewise those that multiply the previous word.
    One object serves all batches of a search. `dtype` is the arithmetic, that of the weights if not given.
    """

    @torch.no_grad()
    def __init__(self, model: RnnSearchForConditionalGeneration, *, dtype: torch.dtype | None = None) -> None:
        decoder, gru = model.decoder, model.decoder.gru
        self.dtype = dtype or gru.input_weight.dtype
        self.embeddings: Tensor = decoder.embeddings.weight
        self.hidden_size: int = decoder.hidden_size
        self.attention_size: int = decoder.attention_query.shape[0]
        self.readout_size: int = decoder.state_to_readout.weight.shape[0]
        zeros = gru.candidate_bias.new_zeros
        self.of_start = self._layer(decoder.start.weight, decoder.start.bias)
        self.of_state = self._layer(
            torch.cat([gru.gate_weight, decoder.attention_query, decoder.state_to_readout.weight]),
            torch.cat([zeros(2 * self.hidden_size + self.attention_size), decoder.state_to_readout.bias]),
        )
        self.of_word = self._layer(
            torch.cat([gru.input_weight, decoder.word_to_readout.weight]),
            torch.cat([zeros(2 * self.hidden_size), gru.candidate_bias, zeros(self.readout_size)]),
        )
        self.of_candidate = self._layer(gru.candidate_weight)
        self.of_maxout = self._layer(decoder.readout_to_output.weight)
        self.of_output = self._layer(model.lm_head.weight, model.lm_head.bias)
        self.attention_vector = decoder.attention_vector.detach().to(self.dtype)
        self.candidates: Tensor | None = None

    def _layer(self, weight: Tensor, bias: Tensor | None = None) -> tuple[Tensor, Tensor | None]:
        return weight.to(self.dtype), None if bias is None else bias.to(self.dtype)

    def restricted(self, candidates: Tensor) -> DecoderSteps:
        """Returns steps whose output layer and softmax have some distinct units alone, (candidates,)."""
        steps, (weight, bias) = copy.copy(self), self.of_output
        assert bias is not None
        steps.candidates = candidates.to(weight.device)
        steps.of_output = weight.index_select(0, steps.candidates), bias.index_select(0, steps.candidates)
        return steps

    def start(self, annotations: Tensor) -> Tensor:
        """Computes s_0 from annotations (batch, source length, 2 * hidden) as (batch, hidden)."""
        first = annotations[:, 0, self.hidden_size :].to(self.dtype)
        return torch.tanh(linear(first, *self.of_start))

    def read_words(self, words: Tensor) -> tuple[Tensor, Tensor]:
        """Projects previous words (rows,) for the GRU, (rows, 3 * hidden), and for the readout."""
        distinct, position = words, words
        if words.device.type == "cpu":
            # In a long n-best list the same few words come again and again; how few, a GPU would be waited for.
            distinct, position = torch.unique(words, return_inverse=True)
            distinct = words if 2 * distinct.numel() > words.numel() else distinct
        projected = linear(self.embeddings.index_select(0, distinct).to(self.dtype), *self.of_word)
        if distinct is not words:
            projected = projected.index_select(0, position)
        gates, readout = projected.split([3 * self.hidden_size, self.readout_size], dim=-1)
        return gates, readout

    def next_state(self, previous: Attended, word_gates: Tensor) -> Tensor:
        """Takes one GRU step with the chosen words' part of the pre-activations, (rows, 3 * hidden)."""
        hidden = self.hidden_size
        from_gates, from_candidate = (previous.gates + word_gates).split([2 * hidden, hidden], -1)
        reset, update = torch.sigmoid(from_gates).chunk(2, dim=-1)
        candidate = torch.tanh(from_candidate + linear(reset * previous.state, *self.of_candidate))
        return torch.lerp(previous.state, candidate, update)

    def attend(self, state: Tensor, annotated: Annotated) -> Attended:
        """Attends from states (batch * width, hidden), as many for every sentence, to their sentences."""
        values, gate_size = annotated.values, 2 * self.hidden_size
        gates, query, readout = linear(state, *self.of_state).split(
            [gate_size, self.attention_size, self.readout_size], dim=-1
        )
        query = query.reshape(values.shape[0], -1, self.attention_size)
        energy = annotated.energies(query, self.attention_vector)
        weight = torch.softmax(energy.float() + annotated.penalty.unsqueeze(1), dim=-1)
        value = torch.bmm(weight.to(values.dtype), values).view(state.shape[0], -1)
        context, from_context = value.split([3 * self.hidden_size, self.readout_size], dim=-1)
        context[:, :gate_size] += gates
        return Attended(state, context, from_context + readout)

    def logits(self, readout: Tensor) -> Tensor:
        """Computes logits (rows, candidates) of complete readouts (rows, readout)."""
        maxout = readout.unflatten(-1, (-1, 2)).amax(dim=-1)
        return linear(linear(maxout, *self.of_maxout), *self.of_output)

"""The decoder of RNNsearch, one position at a time, in training, in `generate` and in the fast search.

The file is saved with the weights. Matrices with the same input are joined into fewer, larger products.
"""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import linear

_MAX_EXPONENT = 40.0
"""Maximum absolute value of keys and queries for which exp(2x) is neither 0 nor infinite in fp32."""
_MAX_ELEMENTS = 1 << 20
"""Elements of the hidden layer (sentences * width * source length * attention) that are computed together."""


class SourceProjections(NamedTuple):
    """The inputs of the attention for a batch of source sentences, one row per sentence.

    Attributes:
        keys: (batch, source length, attention).
        values: (batch, source length, 3 * hidden + readout).
        penalty: Added to the energies, −inf or nearly for padding, fp32 (batch, source length).
        doubled: exp(2 * keys) in fp32; None where :meth:`energies` computes tanh without it.
        excluded: Whether a sentence must not use each of the last candidates (batch, last candidates), or None.
    """

    keys: Tensor
    values: Tensor
    penalty: Tensor
    doubled: Tensor | None = None
    excluded: Tensor | None = None

    @classmethod
    def for_search(cls, projections: tuple[Tensor, Tensor, Tensor], dtype: torch.dtype) -> SourceProjections:
        """Prepare projections for many queries, without gradients."""
        keys, values, penalty = projections
        doubled = None
        # On a GPU, reading the values would wait for all queued work.
        if keys.device.type == "cpu" and float(keys.abs().amax()) <= _MAX_EXPONENT:
            doubled = torch.exp(2.0 * keys.float())
        return cls(keys.to(dtype), values.to(dtype), penalty, doubled)

    def select(self, rows: Tensor) -> SourceProjections:
        """Select sentences."""
        return SourceProjections(*(None if tensor is None else tensor[rows] for tensor in self))  # type: ignore[arg-type]

    def energies(self, query: Tensor, vector: Tensor) -> Tensor:
        """Compute v · tanh(query + key) up to a constant, which the softmax over the source positions cancels.

        tanh(q + k) = 1 - 2 / (1 + exp(2q) exp(2k)), so the exponentials of keys are computed once per sentence.
        Queries are (batch, width, attention), the result is (batch, width, source length).
        """
        if self.doubled is None or float(query.abs().amax()) > _MAX_EXPONENT:
            hidden = self.keys.unsqueeze(1) + query.unsqueeze(2)
            return torch.matmul(hidden.tanh_(), vector)
        batch, width, _ = query.shape
        length, attention = self.doubled.shape[1:]
        sentences = max(1, _MAX_ELEMENTS // (width * length * attention))
        queries, weights = torch.exp(2.0 * query.float()).unsqueeze(2), -2.0 * vector.float()
        result = torch.empty((batch, width, length))
        scratch = torch.empty((min(sentences, batch), width, length, attention))
        for start in range(0, batch, sentences):
            keys = self.doubled[start : start + sentences].unsqueeze(1)
            hidden = torch.mul(keys, queries[start : start + sentences], out=scratch[: keys.shape[0]])
            hidden.add_(1.0).reciprocal_()
            torch.matmul(hidden, weights, out=result[start : start + sentences])
        return result


class AttentionStep(NamedTuple):
    """The results of a decoder state before the next word is chosen.

    Attributes:
        state: s_{i-1} (rows, hidden).
        gates: The next GRU step's pre-activations without the word's part (rows, 3 * hidden).
        readout: The readout without the previous word's part (rows, readout).
        weights: The attention (batch, width, source length).
    """

    state: Tensor
    gates: Tensor
    readout: Tensor
    weights: Tensor

    def select(self, rows: Tensor) -> AttentionStep:
        """Select rows for the next GRU step, which needs neither readout nor attention."""
        state, gates = self.state.index_select(0, rows), self.gates.index_select(0, rows)
        return AttentionStep(state, gates, self.readout[:0], self.weights[:0])


class StepwiseDecoder:
    """The weights of an RNNsearch decoder, joined for its steps.

    Args:
        decoder: The `RnnSearchDecoder`.
        output: The output layer, which :meth:`logits` needs.
    """

    def __init__(self, decoder: Any, output: Any = None) -> None:
        weight_input, weight_gates, weight_candidate, _ = decoder.gru.weights
        # Autocast would round joined weights again at every step, because they are no leaves.
        kind = weight_input.device.type
        self.dtype = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else weight_input.dtype
        self.gru = decoder.gru
        self.embeddings: Tensor = decoder.embeddings.weight
        self.hidden_size: int = decoder.hidden_size
        self.attention_size: int = decoder.attention_query.shape[0]
        self.readout_size: int = decoder.state_to_readout.weight.shape[0]
        zeros = weight_input.new_zeros
        self.of_start = self._layer(decoder.start.weight, decoder.start.bias)
        self.of_state = self._layer(
            torch.cat([weight_gates, decoder.attention_query, decoder.state_to_readout.weight]),
            torch.cat([zeros(2 * self.hidden_size + self.attention_size), decoder.state_to_readout.bias]),
        )
        self.of_word = self._layer(
            torch.cat([weight_input, decoder.word_to_readout.weight]),
            torch.cat([decoder.gru.input_bias, zeros(self.readout_size)]),
        )
        self.weight_candidate = weight_candidate.to(self.dtype)
        self.of_maxout = self._layer(decoder.readout_to_output.weight)
        self.of_output = None if output is None else self._layer(output.weight, output.bias)
        self.attention_vector: Tensor = decoder.attention_vector.to(self.dtype)
        self.candidates: Tensor | None = None
        self.excluded: Tensor | None = None

    @classmethod
    @torch.no_grad()
    def for_search(cls, model: Any) -> StepwiseDecoder:
        """Join the weights of a model with its output layer, without gradients, for all batches of a search."""
        return cls(model.decoder, model.lm_head)

    def _layer(self, weight: Tensor, bias: Tensor | None = None) -> tuple[Tensor, Tensor | None]:
        return weight.to(self.dtype), None if bias is None else bias.to(self.dtype)

    def restricted(self, candidates: Tensor, excluded: Tensor | None = None) -> StepwiseDecoder:
        """Return a decoder whose output layer and softmax are restricted to some tokens.

        Args:
            candidates: The distinct tokens for a batch of sentences.
            excluded: Whether a sentence must not use each of the last candidates (batch, last candidates).
        """
        assert self.of_output is not None
        decoder, (weight, bias) = copy.copy(self), self.of_output
        assert bias is not None
        decoder.candidates = candidates.to(weight.device)
        decoder.excluded = None if excluded is None else excluded.to(weight.device)
        decoder.of_output = weight.index_select(0, decoder.candidates), bias.index_select(0, decoder.candidates)
        return decoder

    @property
    def num_outputs(self) -> int:
        """The number of tokens that have logits."""
        assert self.of_output is not None
        return len(self.of_output[0])

    def start(self, annotations: Tensor) -> Tensor:
        """Compute s_0 = tanh(W h←_1 + b) (batch, hidden) from the backward state at the first source position."""
        first = annotations[:, 0, self.hidden_size :].to(self.dtype)
        return torch.tanh(linear(first, *self.of_start))

    def project_words(self, embedded: Tensor) -> tuple[Tensor, Tensor]:
        """Project embeddings (..., embedding) for the GRU (..., 3 * hidden) and the readout (..., readout)."""
        gates, readout = linear(embedded, *self.of_word).split([3 * self.hidden_size, self.readout_size], dim=-1)
        return gates, readout

    def read_words(self, words: Tensor) -> tuple[Tensor, Tensor]:
        """Embed and project previous words (rows,)."""
        distinct, position = words, words
        if words.device.type == "cpu":
            # A long n-best list repeats few words. On a GPU, counting them would wait for queued work.
            distinct, position = torch.unique(words, return_inverse=True)
            distinct = words if 2 * distinct.numel() > words.numel() else distinct
        gates, readout = self.project_words(self.embeddings.index_select(0, distinct).to(self.dtype))
        if distinct is not words:
            gates, readout = gates.index_select(0, position), readout.index_select(0, position)
        return gates, readout

    def next_state(self, previous: AttentionStep, word_gates: Tensor) -> Tensor:
        """Make one GRU step; `word_gates` (rows, 3 * hidden) are the pre-activations of the chosen words."""
        state: Tensor = self.gru.step(previous.gates + word_gates, None, previous.state, self.weight_candidate)
        return state

    def attend(self, state: Tensor, source: SourceProjections) -> AttentionStep:
        """Attend from states (batch * width, hidden) to their sentences."""
        values, gate_size = source.values, 2 * self.hidden_size
        gates, query, readout = linear(state, *self.of_state).split(
            [gate_size, self.attention_size, self.readout_size], dim=-1
        )
        query = query.reshape(values.shape[0], -1, self.attention_size)
        energy = source.energies(query, self.attention_vector)
        weights = torch.softmax(energy.float() + source.penalty.unsqueeze(1), dim=-1)
        value = torch.bmm(weights.to(values.dtype), values).view(state.shape[0], -1)
        value[:, :gate_size] += gates
        context, from_context = value.split([3 * self.hidden_size, self.readout_size], dim=-1)
        return AttentionStep(state, context, from_context + readout, weights)

    def logits(self, readout: Tensor, excluded: Tensor | None = None) -> Tensor:
        """Compute logits (rows, tokens) of complete readouts (rows, readout), −inf for tokens that are `excluded`."""
        assert self.of_output is not None
        logits = linear(linear(maxout(readout), *self.of_maxout), *self.of_output)
        if excluded is not None and excluded.numel():
            batch, count = excluded.shape
            logits.view(batch, -1, logits.shape[1])[:, :, -count:].masked_fill_(excluded.unsqueeze(1), -torch.inf)
        return logits


def maxout(readout: Tensor) -> Tensor:
    """Halve the last axis by taking the maximum of each pair of adjacent components."""
    return readout.unflatten(-1, (-1, 2)).amax(dim=-1)

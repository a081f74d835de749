"""The gated recurrent averaging network, in one file that travels with its weights."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import PreTrainedModel, initialization
from transformers.modeling_outputs import BaseModelOutputWithPooling

from .configuration_gran import GranConfig

_STANDARD_DEVIATION = 0.1


class SingleBiasLstm(nn.Module):
    """An LSTM with one bias for each gate, as it is written in papers; gates in the order input, forget, cell, output.

    `torch.nn.LSTM` has two biases that are added to one another, which doubles the step of their sum under Adam. This
    module calls the same kernel with a zero in the place of the second.

    Args:
        config: Gives the size.
    """

    def __init__(self, config: GranConfig) -> None:
        super().__init__()
        size = config.hidden_size
        self.weight_input = nn.Parameter(torch.empty(4 * size, size))
        self.weight_state = nn.Parameter(torch.empty(4 * size, size))
        self.bias = nn.Parameter(torch.empty(4 * size))

    def forward(self, vectors: Tensor, lengths: Tensor) -> Tensor:
        """Computes the hidden states.

        Args:
            vectors: Word vectors (batch, length, size), real words first.
            lengths: The number of real words of each sentence (batch,). A state depends on earlier words only, so the
                padding behind a sentence needs no care, and one product over all is faster than packing.

        Returns:
            The states h_t (batch, length, size); what stands behind the end of a sentence has no meaning.
        """
        initial = vectors.new_zeros(1, vectors.shape[0], vectors.shape[2])
        weights = [self.weight_input, self.weight_state, self.bias, torch.zeros_like(self.bias)]
        return torch.lstm(vectors, (initial, initial), weights, True, 1, 0.0, self.training, False, True)[0]


class BiaslessGateGru(nn.Module):
    """The GRU of paper 003, section 3.1: no biases in the gates, a leaky ReLU for the candidate state.

        r_t = sigmoid(W_r x_t + U_r h_{t-1})
        z_t = sigmoid(W_z x_t + U_z h_{t-1})
        h_t = (1 - z_t) * h_{t-1} + z_t * f(W_h x_t + U_h (r_t * h_{t-1}) + b_h)

    `torch.nn.GRU` differs in three ways: its gates have biases, its reset gate acts after the recurrent product, and f
    is tanh.

    Args:
        config: Gives the size, f and its slope.
    """

    def __init__(self, config: GranConfig) -> None:
        super().__init__()
        size = config.hidden_size
        self.leaky = config.candidate_activation == "leaky_relu"
        self.negative_slope = config.negative_slope
        # One matrix each, (reset, update, candidate) below one another: a single product serves all steps.
        self.weight_input = nn.Parameter(torch.empty(3 * size, size))
        self.weight_gates = nn.Parameter(torch.empty(2 * size, size))
        self.weight_candidate = nn.Parameter(torch.empty(size, size))
        self.bias_candidate = nn.Parameter(torch.empty(size))

    def forward(self, vectors: Tensor, lengths: Tensor) -> Tensor:
        """Computes the hidden states.

        Args:
            vectors: Word vectors (batch, length, size), real words first.
            lengths: The number of real words of each sentence (batch,).

        Returns:
            The states h_t (batch, length, size); zero behind the end of a sentence.
        """
        batch, length, size = vectors.shape
        order = lengths.argsort(descending=True, stable=True)
        counts = (lengths.unsqueeze(0) > torch.arange(length, device=lengths.device).unsqueeze(1)).sum(1).tolist()
        # Time first and longest sentence first: what is still running at a step is then one contiguous block.
        inputs = vectors.transpose(0, 1)[:, order]
        projected = functional.linear(inputs, self.weight_input)
        state = vectors.new_zeros(batch, size)
        states = []
        for step, running in enumerate(counts):
            if running == 0:
                break
            state = state[:running]
            of_input = projected[step, :running]
            gates = torch.sigmoid(of_input[:, : 2 * size] + functional.linear(state, self.weight_gates))
            reset, update = gates.chunk(2, dim=1)
            candidate = functional.linear(reset * state, self.weight_candidate, self.bias_candidate)
            candidate = candidate + of_input[:, 2 * size :]
            candidate = functional.leaky_relu(candidate, self.negative_slope) if self.leaky else candidate.tanh()
            state = state + update * (candidate - state)
            states.append(functional.pad(state, (0, 0, 0, batch - running)))
        states += [vectors.new_zeros(batch, size)] * (length - len(states))
        return torch.stack(states)[:, order.argsort()].transpose(0, 1)


class GranModel(PreTrainedModel):
    """The mean of gated word vectors (Wieting and Gimpel 2017; paper 000 equation 1; paper 003 section 3.1).

        a_t = x_t * sigmoid(W_x x_t + W_h h_t + b)

    where x_t is the vector of word t and h_t the state of a recurrent network after reading it. The sentence embedding
    is the mean of a_t over the real words. With `cell="lstm"` the network is an LSTM without peepholes; with
    `cell="gru"` it is that of paper 003.

    Initialisation. `lstm`: all matrices N(0, 0.1), all biases 0 (the forget gate's too), as the reference code.
    `gru`: matrices Xavier uniform per gate,
    biases 0, word vectors uniform in ± `initializer_range`.

    Attributes:
        embeddings: The word vectors (vocab_size, hidden_size).
        sparse_gradients: Whether the gradient of `embeddings` is a sparse tensor. A training switch, not saved.
    """

    config_class = GranConfig
    base_model_prefix = "gran"
    main_input_name = "input_ids"
    sparse_gradients = False

    def __init__(self, config: GranConfig) -> None:
        super().__init__(config)
        size = config.hidden_size
        self.embeddings = nn.Parameter(torch.empty(config.vocab_size, size))
        self.recurrent: nn.Module
        if config.cell == "lstm":
            self.recurrent = SingleBiasLstm(config)
        else:
            self.recurrent = BiaslessGateGru(config)
        self.gate_input = nn.Linear(size, size)
        self.gate_state = nn.Linear(size, size, bias=False)
        self.post_init()

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        xavier = self.config.cell == "gru"
        if isinstance(module, GranModel):
            vectors = torch.empty_like(module.embeddings)
            bound = self.config.initializer_range
            if xavier:
                vectors.uniform_(-bound, bound)
            else:
                vectors.normal_(0.0, bound)
            if self.config.pad_token_id is not None:
                vectors[self.config.pad_token_id] = 0.0
            initialization.copy_(module.embeddings, vectors)
        elif isinstance(module, SingleBiasLstm):
            initialization.normal_(module.weight_input, 0.0, _STANDARD_DEVIATION)
            initialization.normal_(module.weight_state, 0.0, _STANDARD_DEVIATION)
            initialization.zeros_(module.bias)
        elif isinstance(module, BiaslessGateGru):
            for parameter in (module.weight_input, module.weight_gates, module.weight_candidate):
                blocks = torch.empty_like(parameter)
                for block in blocks.split(self.config.hidden_size):
                    initialization.xavier_uniform_(block)
                initialization.copy_(parameter, blocks)
            initialization.zeros_(module.bias_candidate)
        elif isinstance(module, nn.Linear):
            if xavier:
                initialization.xavier_uniform_(module.weight)
            else:
                initialization.normal_(module.weight, 0.0, _STANDARD_DEVIATION)
            if module.bias is not None:
                initialization.zeros_(module.bias)

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        return_token_vectors: bool = True,
        return_dict: bool | None = None,
        **kwargs: Any,
    ) -> BaseModelOutputWithPooling | tuple[Tensor | None, Tensor]:
        """Embeds a batch of sentences.

        Args:
            input_ids: Token ids (batch, length).
            attention_mask: True or non-zero where a token counts (batch, length); None counts all that is not padding.
                Padding on the left or between words is moved behind the sentence for the computation and back in the
                token vectors, so it changes nothing beyond rounding.
            return_token_vectors: False leaves `last_hidden_state` out.
            return_dict: False gives a tuple.
            **kwargs: Other fields that a tokenizer may give, e.g. `token_type_ids`; they have no meaning here.

        Returns:
            `last_hidden_state` (batch, length, hidden_size), the gated vectors a_t, zero at padding, and
            `pooler_output` (batch, hidden_size), their mean. A sentence without tokens embeds to zeros.
        """
        if attention_mask is None:
            mask = torch.ones_like(input_ids, dtype=torch.bool)
            if self.config.pad_token_id is not None:
                mask = input_ids != self.config.pad_token_id
        else:
            mask = attention_mask.bool()
        lengths = mask.sum(1)
        positions: Tensor | None = None
        if mask.shape[1] > 1 and bool((mask[:, 1:] & ~mask[:, :-1]).any()):
            positions = (~mask).to(torch.int8).argsort(dim=1, stable=True)
            input_ids, mask = input_ids.gather(1, positions), mask.gather(1, positions)
        if lengths.numel() == 0 or int(lengths.max()) == 0:
            gated = self.embeddings.new_zeros(*input_ids.shape, self.config.hidden_size)
        else:
            gated = self._gated(input_ids, mask, lengths)
        pooled = gated.sum(1) / lengths.clamp_min(1).unsqueeze(1).to(gated.dtype)
        token_vectors: Tensor | None = None
        if return_token_vectors:
            token_vectors = gated
            if positions is not None:
                token_vectors = gated.gather(1, positions.argsort(dim=1).unsqueeze(2).expand_as(gated))
        if return_dict is False:
            return token_vectors, pooled
        return BaseModelOutputWithPooling(last_hidden_state=token_vectors, pooler_output=pooled)

    def _gated(self, input_ids: Tensor, mask: Tensor, lengths: Tensor) -> Tensor:
        """Computes a_t (batch, length, hidden_size) for right-padded sentences of at least one token in all."""
        vectors = functional.embedding(input_ids, self.embeddings, sparse=self.sparse_gradients)
        vectors = vectors * mask.unsqueeze(2)
        if self.training and self.config.word_dropout > 0:
            keep = functional.dropout(vectors.new_ones(input_ids.shape), self.config.word_dropout)
            vectors = vectors * keep.unsqueeze(2)
        vectors = functional.dropout(vectors, self.config.dropout, self.training)
        states = self.recurrent(vectors, lengths)
        gate = torch.sigmoid(self.gate_input(vectors) + self.gate_state(states))
        return vectors * gate


GranModel.register_for_auto_class("AutoModel")

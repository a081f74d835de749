"""RNNsearch (Bahdanau et al. 2015) as paper 000 §3 uses it: BiGRU, additive attention, GRU decoder, maxout readout."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import GenerationMixin, PreTrainedModel
from transformers import initialization as init
from transformers.modeling_outputs import BaseModelOutput, Seq2SeqLMOutput
from transformers.utils import can_return_tuple

# A file that only an imported file imports must be imported here too, or it would not travel with the weights.
from .base_configuration import ModelConfig as ModelConfig
from .configuration_rnn_search import RnnSearchConfig


@dataclass
class RnnSearchEncoderOutput(BaseModelOutput):
    """Annotations of a batch of source sentences.

    Attributes:
        last_hidden_state: Annotations h_j = [forward; backward], (batch, source length, 2 * hidden).
        projections: What the decoder needs of them at every step, computed once per source sentence: attention keys
            (batch, source length, attention), values (batch, source length, 3 * hidden + readout) and the additive
            mask (batch, source length). A tuple, because `generate` repeats top-level tensors for every beam but
            leaves tensors in tuples alone: the decoder shares one copy among the beams of a sentence.
    """

    projections: tuple[Tensor, Tensor, Tensor] | None = None


class RnnSearchCache:
    """What the decoder carries from one generated token to the next; `generate` reorders it with the beams.

    It is the state s_{i-1} (rows, hidden), the projected context of the last step (rows, 3 * hidden), which is its
    part in the GRU's pre-activations, and the number of decoder positions that have been read.
    """

    is_compileable = False

    def __init__(self, state: Tensor, context: Tensor, length: int) -> None:
        self.state = state
        self.context = context
        self.length = length

    def get_seq_length(self, layer_idx: int = 0) -> int:
        """Returns the number of decoder positions that have been read."""
        return self.length

    def reorder_cache(self, beam_idx: Tensor) -> None:
        """Takes over, for every row, the state of the hypothesis that it continues."""
        self.state = self.state.index_select(0, beam_idx)
        self.context = self.context.index_select(0, beam_idx)


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
        """Computes the inputs' part of the pre-activations, (…, 3 * hidden): reset, update, candidate."""
        projected = functional.linear(inputs, self.input_weight)
        bias = torch.cat([self.candidate_bias.new_zeros(2 * self.hidden_size), self.candidate_bias])
        return projected + bias.to(projected.dtype)

    def step(self, projected: Tensor, state: Tensor, gates: Tensor | None = None) -> Tensor:
        """Takes one step from a state (rows, hidden); `projected` (rows, 3 * hidden) does not depend on it.

        `gates` is the state's part of the gates' pre-activations, (rows, 2 * hidden), if it is known already.
        """
        if gates is None:
            gates = functional.linear(state, self.gate_weight)
        from_gates, from_candidate = projected.split([2 * self.hidden_size, self.hidden_size], dim=-1)
        reset, update = torch.sigmoid(from_gates + gates).chunk(2, dim=-1)
        candidate = torch.tanh(from_candidate + functional.linear(reset * state, self.candidate_weight))
        return torch.lerp(state, candidate.to(state.dtype), update.to(state.dtype))


class RnnSearchEncoder(nn.Module):
    """Reads the source in both directions with one embedding matrix (Bahdanau et al. 2015 §3.2)."""

    main_input_name = "input_ids"

    def __init__(self, config: RnnSearchConfig, embeddings: nn.Embedding) -> None:
        super().__init__()
        self.embeddings = embeddings
        self.dropout = nn.Dropout(config.dropout)
        self.forward_gru = RnnSearchGru(config.embedding_size, config.hidden_size)
        self.backward_gru = RnnSearchGru(config.embedding_size, config.hidden_size)

    def forward(self, input_ids: Tensor, attention_mask: Tensor | None = None, **_: Any) -> RnnSearchEncoderOutput:
        """Computes the annotations of source units (batch, source length); all are real without a mask."""
        if attention_mask is None:
            attention_mask = torch.ones_like(input_ids)
        embedded = self.dropout(self.embeddings(input_ids))
        mask = attention_mask.to(embedded.dtype).unsqueeze(-1)
        steps = range(input_ids.shape[1])
        ahead = self._read(self.forward_gru, embedded, mask, steps)
        back = self._read(self.backward_gru, embedded, mask, reversed(steps))
        annotations = torch.cat([torch.stack(ahead, dim=1), torch.stack(back[::-1], dim=1)], dim=-1)
        return RnnSearchEncoderOutput(last_hidden_state=annotations)

    @staticmethod
    def _read(gru: RnnSearchGru, embedded: Tensor, mask: Tensor, steps: Any) -> list[Tensor]:
        # `unbind` has one backward for all steps, where indexing has a full-size one for each.
        projected, present = gru.project_inputs(embedded).unbind(1), mask.unbind(1)
        state = embedded.new_zeros(embedded.shape[0], gru.hidden_size)
        states = []
        for position in steps:
            # A padded step copies the state, so padding on either side never changes a result.
            state = torch.lerp(state, gru.step(projected[position], state), present[position])
            states.append(state)
        return states


class RnnSearchDecoder(nn.Module):
    """Attends, predicts and then reads the chosen word, one GRU step a word.

    The word y_i is predicted from the state s_{i-1}, which has read all words before it, the context c_i that s_{i-1}
    attends to, and the embedding of y_{i-1}; only then s_i = GRU(s_{i-1}; y_i, c_i). Before the first word there is no
    previous word: its embedding contributes nothing to the readout.
    """

    def __init__(self, config: RnnSearchConfig, embeddings: nn.Embedding) -> None:
        super().__init__()
        hidden, attention, readout = config.hidden_size, config.attention_size, config.readout_size
        assert attention is not None and readout is not None
        self.hidden_size = hidden
        self.embeddings = embeddings
        self.dropout = nn.Dropout(config.dropout)
        self.start = nn.Linear(hidden, hidden)
        self.gru = RnnSearchGru(config.embedding_size, hidden)
        self.attention_query = nn.Parameter(torch.empty(attention, hidden))
        self.attention_key = nn.Parameter(torch.empty(attention, 2 * hidden))
        self.attention_vector = nn.Parameter(torch.empty(attention))
        self.context_to_gru = nn.Parameter(torch.empty(3 * hidden, 2 * hidden))
        self.context_to_readout = nn.Parameter(torch.empty(readout, 2 * hidden))
        self.state_to_readout = nn.Linear(hidden, readout)
        self.word_to_readout = nn.Linear(config.embedding_size, readout, bias=False)
        self.readout_to_output = nn.Linear(readout // 2, config.embedding_size, bias=False)

    def project_annotations(self, annotations: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
        """Computes keys, values and additive mask of the attention, once per source sentence.

        A weighted sum of projected annotations equals the projection of the weighted sum, so projecting here saves
        the largest matrix product of every decoding step.
        """
        annotations = self.dropout(annotations)
        keys = functional.linear(annotations, self.attention_key)
        values = functional.linear(annotations, torch.cat([self.context_to_gru, self.context_to_readout]))
        if mask is None:
            mask = annotations.new_ones(annotations.shape[:2])
        penalty = (1.0 - mask.to(torch.float32)) * torch.finfo(torch.float32).min
        return keys, values, penalty

    def start_state(self, annotations: Tensor) -> Tensor:
        """Computes s_0 = tanh(W h←_1 + b) from the backward state at the first position, (rows, hidden)."""
        return torch.tanh(self.start(annotations[:, 0, self.hidden_size :])).to(annotations.dtype)

    def forward(
        self,
        decoder_input_ids: Tensor,
        annotations: Tensor,
        projections: tuple[Tensor, Tensor, Tensor],
        cache: RnnSearchCache | None,
    ) -> tuple[Tensor, RnnSearchCache, Tensor]:
        """Computes, for every given decoder position, the vector that the output layer turns into logits.

        `decoder_input_ids` (rows, steps) are previous words of batch * beams rows; without a cache the first one is
        the start token, whose embedding is not used. From `annotations` (rows, source length, 2 * hidden) the start
        state is computed; `projections` have batch rows, which the beams of a sentence share. Returned are output
        vectors (rows, steps, embedding), the cache, and the attention weights (rows, steps, source length).
        """
        keys, values, penalty = projections
        batch, rows, steps = keys.shape[0], decoder_input_ids.shape[0], decoder_input_ids.shape[1]
        embedded = self.dropout(self.embeddings(decoder_input_ids))
        if cache is None:
            embedded = torch.cat([torch.zeros_like(embedded[:, :1]), embedded[:, 1:]], dim=1)
        projected = self.gru.project_inputs(embedded).unbind(1)
        recurrent = torch.cat([self.gru.gate_weight, self.attention_query])
        state, context = (self.start_state(annotations), None) if cache is None else (cache.state, cache.context)
        gates = None
        states, readouts, weights = [], [], []
        for position in range(steps):
            if context is not None:
                state = self.gru.step(projected[position] + context, state, gates)
            # One product serves the attention now and the gates of the next step.
            gates, query = functional.linear(state, recurrent).split(
                [2 * self.hidden_size, recurrent.shape[0] - 2 * self.hidden_size], dim=-1
            )
            weight = self._attend(query.view(batch, rows // batch, -1), keys, penalty)
            value = torch.bmm(weight.to(values.dtype), values).view(rows, -1)
            context, readout = value.split([3 * self.hidden_size, value.shape[1] - 3 * self.hidden_size], dim=-1)
            states.append(state)
            readouts.append(readout)
            weights.append(weight.view(rows, -1))
        output = self._read_out(torch.stack(states, 1), torch.stack(readouts, 1), embedded)
        assert context is not None
        length = steps + (0 if cache is None else cache.length)
        return output, RnnSearchCache(state, context, length), torch.stack(weights, 1)

    def _attend(self, query: Tensor, keys: Tensor, penalty: Tensor) -> Tensor:
        """Computes α = softmax_j(v · tanh(B s + A h_j)), (batch, beams, source length)."""
        hidden = torch.tanh(keys.unsqueeze(1) + query.unsqueeze(2))
        energy = torch.matmul(hidden, self.attention_vector.to(hidden.dtype))
        return torch.softmax(energy.float() + penalty.unsqueeze(1), dim=-1)

    def _read_out(self, states: Tensor, contexts: Tensor, embedded: Tensor) -> Tensor:
        """Computes the readout W_c c_i + W_s s_{i-1} + b + W_y y_{i-1}, halved by maxout and projected."""
        readout = contexts + self.state_to_readout(states) + self.word_to_readout(embedded)
        maxout = readout.unflatten(-1, (-1, 2)).amax(dim=-1)
        projected: Tensor = self.readout_to_output(self.dropout(maxout))
        return projected


class RnnSearchForConditionalGeneration(PreTrainedModel, GenerationMixin):
    """RNNsearch with its output layer: translates with `generate` (greedy, sampling, beam search, n-best)."""

    config_class = RnnSearchConfig
    base_model_prefix = "model"
    _auto_class = "AutoModelForSeq2SeqLM"
    main_input_name = "input_ids"
    _tied_weights_keys: dict[str, str] = {"lm_head.weight": "decoder.embeddings.weight"}  # noqa: RUF012
    # The loss is a mean over tokens of the batch: the Trainer divides it by the accumulation steps.
    accepts_loss_kwargs = False

    def __init__(self, config: RnnSearchConfig) -> None:
        super().__init__(config)
        assert config.source_vocab_size is not None
        target = nn.Embedding(config.vocab_size, config.embedding_size, padding_idx=config.pad_token_id)
        source = (
            target
            if config.share_embeddings
            else nn.Embedding(config.source_vocab_size, config.embedding_size, padding_idx=config.pad_token_id)
        )
        self.encoder = RnnSearchEncoder(config, source)
        self.decoder = RnnSearchDecoder(config, target)
        self.lm_head = nn.Linear(config.embedding_size, config.vocab_size)
        if config.share_embeddings:
            self._tied_weights_keys = {
                **type(self)._tied_weights_keys,
                "encoder.embeddings.weight": "decoder.embeddings.weight",
            }
        self.post_init()

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        """Initialises one module: recurrent matrices orthogonal, biases zero, the rest as configured."""
        if isinstance(module, RnnSearchGru):
            self._init_matrix(module.input_weight, gates=3)
            for gate in module.gate_weight.chunk(2):
                init.orthogonal_(gate)
            init.orthogonal_(module.candidate_weight)
            init.zeros_(module.candidate_bias)
        elif isinstance(module, RnnSearchDecoder):
            deviation = self.config.attention_initializer_range
            self._init_matrix(module.attention_query, deviation=deviation)
            self._init_matrix(module.attention_key, deviation=deviation)
            self._init_matrix(module.context_to_gru, gates=3)
            self._init_matrix(module.context_to_readout)
            if self.config.initialization == "xavier":
                init.normal_(module.attention_vector, std=module.attention_vector.numel() ** -0.5)
            else:
                init.zeros_(module.attention_vector)
        elif isinstance(module, nn.Linear):
            self._init_matrix(module.weight)
            if module.bias is not None:
                init.zeros_(module.bias)
        elif isinstance(module, nn.Embedding):
            xavier = self.config.initialization == "xavier"
            init.normal_(
                module.weight, std=self.config.embedding_size**-0.5 if xavier else self.config.initializer_range
            )

    def _init_matrix(self, weight: Tensor, *, gates: int = 1, deviation: float | None = None) -> None:
        """Initialises a matrix that stacks `gates` independent ones; `deviation` is the reference's, if special."""
        if self.config.initialization == "reference":
            init.normal_(weight, std=self.config.initializer_range if deviation is None else deviation)
            return
        for part in weight.chunk(gates):
            init.xavier_uniform_(part)

    @classmethod
    def _supports_default_dynamic_cache(cls) -> bool:
        return False

    def get_input_embeddings(self) -> nn.Embedding:
        """Returns the target embeddings, the ones that the output layer can be tied to."""
        return self.decoder.embeddings

    def set_input_embeddings(self, value: nn.Module) -> None:
        """Replaces the target embeddings, and with them those of the source if both sides share one table."""
        assert isinstance(value, nn.Embedding)
        self.decoder.embeddings = value
        if self.config.share_embeddings:
            self.encoder.embeddings = value

    def resize_token_embeddings(self, *args: Any, **kwargs: Any) -> nn.Embedding:
        """Resizes the target embeddings and the output layer; a table that both sides share serves both."""
        layer: nn.Embedding = super().resize_token_embeddings(*args, **kwargs)
        if self.config.share_embeddings:
            self.config.source_vocab_size = self.config.vocab_size
        return layer

    def prepare_decoder_input_ids_from_labels(self, labels: Tensor) -> Tensor:
        """Shifts the labels one to the right, behind the start token; (batch, target length)."""
        start = torch.full_like(labels[:, :1], self.config.decoder_start_token_id)
        shifted = torch.cat([start, labels[:, :-1]], dim=1)
        return shifted.masked_fill(shifted == -100, self.config.pad_token_id)

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        decoder_input_ids: Tensor | None = None,
        encoder_outputs: Any = None,
        past_key_values: RnnSearchCache | None = None,
        labels: Tensor | None = None,
        use_cache: bool | None = None,
        output_attentions: bool | None = None,
    ) -> Seq2SeqLMOutput:
        """Computes next-word logits and, with labels, the training loss.

        `decoder_input_ids` (rows, target length) are previous target units, from the start token on, by default those
        of `labels` (batch, target length), which end with the end token and are −100 where there is none.
        `encoder_outputs` may be a tuple that starts with the annotations.

        Returns:
            `loss` (mean negative log-likelihood a token, in nats, smoothed in training mode as configured), `logits`
            (rows, target length, vocabulary), `past_key_values`, `cross_attentions`, `encoder_last_hidden_state`.
        """
        if encoder_outputs is None:
            if input_ids is None:
                raise ValueError("either input_ids or encoder_outputs must be given")
            encoder_outputs = self.encoder(input_ids, attention_mask)
        elif isinstance(encoder_outputs, tuple):
            encoder_outputs = RnnSearchEncoderOutput(last_hidden_state=encoder_outputs[0])
        if decoder_input_ids is None:
            if labels is None:
                raise ValueError("either decoder_input_ids or labels must be given")
            decoder_input_ids = self.prepare_decoder_input_ids_from_labels(labels)
        annotations = encoder_outputs.last_hidden_state
        projections = getattr(encoder_outputs, "projections", None)
        if projections is None:
            projections = self.decoder.project_annotations(annotations, attention_mask)
        output, cache, attentions = self.decoder(decoder_input_ids, annotations, projections, past_key_values)
        logits = self.lm_head(output)
        loss = None
        if labels is not None:
            smoothing = self.config.label_smoothing if self.training else 0.0
            loss = functional.cross_entropy(logits.float().flatten(0, 1), labels.flatten(), label_smoothing=smoothing)
        use_cache = self.config.use_cache and labels is None if use_cache is None else use_cache
        return Seq2SeqLMOutput(
            loss=loss,
            logits=logits,
            past_key_values=cache if use_cache else None,
            cross_attentions=(attentions,) if output_attentions else None,
            encoder_last_hidden_state=annotations,
        )

    def _expand_inputs_for_generation(
        self,
        expand_size: int = 1,
        is_encoder_decoder: bool = True,
        input_ids: Tensor | None = None,
        **model_kwargs: Any,
    ) -> tuple[Tensor, dict[str, Any]]:
        # The last moment at which there is one row a sentence: what all its beams share is computed here. In a fresh
        # object, because `generate` repeats the rows in place and the caller's own encoder output must stay usable.
        annotations = model_kwargs["encoder_outputs"][0]
        model_kwargs["encoder_outputs"] = RnnSearchEncoderOutput(
            last_hidden_state=annotations,
            projections=self.decoder.project_annotations(annotations, model_kwargs.get("attention_mask")),
        )
        expanded: tuple[Tensor, dict[str, Any]] = super()._expand_inputs_for_generation(
            expand_size, is_encoder_decoder, input_ids, **model_kwargs
        )
        return expanded

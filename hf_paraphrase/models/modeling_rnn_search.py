"""RNNsearch (Bahdanau et al. 2015): a BiGRU encoder, additive attention, a GRU decoder and a maxout readout."""

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

from .configurations import RnnSearchConfig
from .recurrent_cells import BiaslessGateGru
from .stepwise_decoder import AttentionStep, SourceProjections, StepwiseDecoder, maxout

# transformers 5.24 renamed the field.
_CACHE = "cache" if "cache" in Seq2SeqLMOutput.__dataclass_fields__ else "past_key_values"


@dataclass
class RnnSearchEncoderOutput(BaseModelOutput):
    """Annotations of a batch of source sentences.

    Attributes:
        last_hidden_state: Annotations h_j = [forward; backward] (batch, source length, 2 * hidden).
        projections: The keys, values and mask of :class:`SourceProjections`. `generate` repeats top-level tensors for
            every beam, but not tensors in tuples, so the beams of a sentence share one copy.
    """

    projections: tuple[Tensor, Tensor, Tensor] | None = None


class RnnSearchCache:
    """The state of the decoder between generated tokens; `generate` reorders it with the beams."""

    is_compileable = False

    def __init__(self, decoder: StepwiseDecoder, step: AttentionStep, length: int) -> None:
        self.decoder = decoder
        self.step = step
        self.length = length

    def get_seq_length(self, layer_idx: int = 0) -> int:
        """Return the number of decoder positions read so far."""
        return self.length

    def reorder_cache(self, beam_idx: Tensor) -> None:
        """Reorder the rows by the hypotheses that they continue."""
        self.step = self.step.select(beam_idx)


class RnnSearchGru(BiaslessGateGru):
    """The GRU of RNNsearch, with the parameter names of version 0.1."""

    names = ("input_weight", "gate_weight", "candidate_weight", "candidate_bias")


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
        """Compute the annotations of source tokens (batch, source length); without a mask all tokens count."""
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
        # `unbind` has one backward for all steps; indexing has a full-size one per step.
        projected, present = gru.project_inputs(embedded).unbind(1), mask.unbind(1)
        _, weight_gates, weight_candidate, _ = gru.weights
        state = embedded.new_zeros(embedded.shape[0], gru.size)
        states = []
        for position in steps:
            gates = functional.linear(state, weight_gates)
            # A padded step copies the state, so padding on either side never changes a result.
            state = torch.lerp(state, gru.step(projected[position], gates, state, weight_candidate), present[position])
            states.append(state)
        return states


class RnnSearchDecoder(nn.Module):
    """A decoder that attends, predicts a word, and then reads it with one GRU step.

    The word y_i is predicted from the state s_{i-1}, the context c_i that s_{i-1} attends to, and the embedding of
    y_{i-1}, which is zero for the first word. Then s_i = GRU(s_{i-1}; y_i, c_i).
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
        """Compute keys, values and additive mask of the attention, once per source sentence.

        Projecting annotations before the weighted sum saves the largest matrix product of every decoding step.
        """
        annotations = self.dropout(annotations)
        keys = functional.linear(annotations, self.attention_key)
        values = functional.linear(annotations, torch.cat([self.context_to_gru, self.context_to_readout]))
        if mask is None:
            mask = annotations.new_ones(annotations.shape[:2])
        penalty = (1.0 - mask.to(torch.float32)) * torch.finfo(torch.float32).min
        return keys, values, penalty

    def forward(
        self,
        decoder_input_ids: Tensor,
        annotations: Tensor,
        projections: tuple[Tensor, Tensor, Tensor],
        cache: RnnSearchCache | None,
    ) -> tuple[Tensor, RnnSearchCache, Tensor]:
        """Compute the input of the output layer for each decoder position.

        `decoder_input_ids` are previous words (rows, steps) of batch * beams rows. Without a cache the first is the
        start token, whose embedding is not used. The beams of a sentence share a row of the `projections`.

        Returns:
            Output vectors (rows, steps, embedding), the cache, and the attention (rows, steps, source length).
        """
        embedded = self.dropout(self.embeddings(decoder_input_ids))
        if cache is None:
            embedded = torch.cat([torch.zeros_like(embedded[:, :1]), embedded[:, 1:]], dim=1)
            decoder = StepwiseDecoder(self)
            state, step, length = decoder.start(annotations).to(annotations.dtype), None, 0
        else:
            decoder, step, length, state = cache.decoder, cache.step, cache.length, cache.step.state
        source = SourceProjections(*projections)
        word_gates, word_readouts = decoder.project_words(embedded)
        readouts, weights = [], []
        for gates in word_gates.unbind(1):
            if step is not None:
                state = decoder.next_state(step, gates)
            step = decoder.attend(state, source)
            readouts.append(step.readout)
            weights.append(step.weights.flatten(0, 1))
        assert step is not None
        output = self.readout_to_output(self.dropout(maxout(torch.stack(readouts, 1) + word_readouts)))
        return output, RnnSearchCache(decoder, step, length + len(readouts)), torch.stack(weights, 1)


class RnnSearchForConditionalGeneration(PreTrainedModel, GenerationMixin):
    """RNNsearch with its output layer: translates with `generate` (greedy, sampling, beam search, n-best)."""

    config_class = RnnSearchConfig
    base_model_prefix = "model"
    _auto_class = "AutoModelForSeq2SeqLM"
    main_input_name = "input_ids"
    _tied_weights_keys: dict[str, str] = {"lm_head.weight": "decoder.embeddings.weight"}  # noqa: RUF012
    # The loss is a mean over the tokens of a batch, so the Trainer divides it by the accumulation steps.
    accepts_loss_kwargs = False

    def __init__(self, config: RnnSearchConfig) -> None:
        super().__init__(config)
        assert config.source_vocab_size is not None
        target = nn.Embedding(config.vocab_size, config.embedding_size, padding_idx=config.pad_token_id)
        source = target
        if not config.share_embeddings:
            source = nn.Embedding(config.source_vocab_size, config.embedding_size, padding_idx=config.pad_token_id)
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
        """Initialise one module: recurrent matrices orthogonal, biases zero, the rest as configured."""
        if isinstance(module, RnnSearchGru):
            weight_input, weight_gates, weight_candidate, bias = module.weights
            self._init_matrix(weight_input, gates=3)
            for matrix in (*weight_gates.chunk(2), weight_candidate):
                init.orthogonal_(matrix)
            init.zeros_(bias)
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
            std = self.config.embedding_size**-0.5 if xavier else self.config.initializer_range
            init.normal_(module.weight, std=std)

    def _init_matrix(self, weight: Tensor, *, gates: int = 1, deviation: float | None = None) -> None:
        """Initialise a matrix of `gates` stacked matrices; `deviation` overrides the reference's range."""
        if self.config.initialization == "reference":
            init.normal_(weight, std=self.config.initializer_range if deviation is None else deviation)
            return
        for part in weight.chunk(gates):
            init.xavier_uniform_(part)

    @classmethod
    def _supports_default_dynamic_cache(cls) -> bool:
        return False

    def get_input_embeddings(self) -> nn.Embedding:
        """Return the target embeddings."""
        return self.decoder.embeddings

    def set_input_embeddings(self, value: nn.Module) -> None:
        """Replace the target embeddings, and the source embeddings if they are shared."""
        assert isinstance(value, nn.Embedding)
        self.decoder.embeddings = value
        if self.config.share_embeddings:
            self.encoder.embeddings = value

    def resize_token_embeddings(self, *args: Any, **kwargs: Any) -> nn.Embedding:
        """Resize the target embeddings, the output layer, and shared source embeddings."""
        layer: nn.Embedding = super().resize_token_embeddings(*args, **kwargs)
        if self.config.share_embeddings:
            self.config.source_vocab_size = self.config.vocab_size
        return layer

    def prepare_decoder_input_ids_from_labels(self, labels: Tensor) -> Tensor:
        """Shift the labels (batch, target length) to the right and put the start token first."""
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
        cache: RnnSearchCache | None = None,
    ) -> Seq2SeqLMOutput:
        """Compute next-word logits and, with labels, the training loss.

        `decoder_input_ids` (rows, target length) are previous target subwords from the start token on, by default the
        shifted `labels` (batch, target length). Labels end with the end token; padding is −100.
        `encoder_outputs` may be a tuple that starts with the annotations. `cache` is the name of `past_key_values`
        from transformers 5.24 on.

        Returns:
            `loss` (mean negative log-likelihood per token in nats, with label smoothing in training), `logits`
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
        cache = past_key_values if cache is None else cache
        output, new_cache, attentions = self.decoder(decoder_input_ids, annotations, projections, cache)
        logits = self.lm_head(output)
        loss = None
        if labels is not None:
            smoothing = self.config.label_smoothing if self.training else 0.0
            loss = functional.cross_entropy(logits.float().flatten(0, 1), labels.flatten(), label_smoothing=smoothing)
        use_cache = self.config.use_cache and labels is None if use_cache is None else use_cache
        return Seq2SeqLMOutput(
            loss=loss,
            logits=logits,
            **{_CACHE: new_cache if use_cache else None},
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
        # Computed before each beam has its own row, in a new object because `generate` changes the given one.
        annotations = model_kwargs["encoder_outputs"][0]
        model_kwargs["encoder_outputs"] = RnnSearchEncoderOutput(
            last_hidden_state=annotations,
            projections=self.decoder.project_annotations(annotations, model_kwargs.get("attention_mask")),
        )
        expanded: tuple[Tensor, dict[str, Any]] = super()._expand_inputs_for_generation(
            expand_size, is_encoder_decoder, input_ids, **model_kwargs
        )
        return expanded

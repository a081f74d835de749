"""Several translation models with one vocabulary that search together, by their mean log-probability."""

from __future__ import annotations

import copy
import os
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import (
    GenerationMixin,
    LogitsProcessor,
    LogitsProcessorList,
    PreTrainedModel,
    PreTrainedTokenizerFast,
)
from transformers.modeling_outputs import Seq2SeqLMOutput

from ..errors import ModelError, UsageError
from ..models.configuration_rnn_search import RnnSearchConfig
from ..models.modeling_rnn_search import RnnSearchCache, RnnSearchEncoderOutput, RnnSearchForConditionalGeneration
from .loading import check_translation_model, load_translation_model


class EnsembleCache:
    """The caches of the members, reordered together."""

    is_compileable = False

    def __init__(self, members: Sequence[RnnSearchCache]) -> None:
        self.members = list(members)

    def get_seq_length(self, layer_idx: int = 0) -> int:
        """Returns the number of decoder positions that have been read."""
        return self.members[0].get_seq_length(layer_idx)

    def reorder_cache(self, beam_idx: Tensor) -> None:
        """Takes over, for every row and member, the state of the hypothesis that it continues."""
        for member in self.members:
            member.reorder_cache(beam_idx)


class _EnsembleEncoder(nn.Module):
    """Runs the encoders of all members; their annotations are concatenated in the last axis."""

    main_input_name = "input_ids"

    def __init__(self, members: Sequence[RnnSearchForConditionalGeneration]) -> None:
        super().__init__()
        self.encoders = nn.ModuleList([member.encoder for member in members])

    def forward(self, input_ids: Tensor, attention_mask: Tensor | None = None, **_: Any) -> RnnSearchEncoderOutput:
        states = [encoder(input_ids, attention_mask).last_hidden_state for encoder in self.encoders]
        return RnnSearchEncoderOutput(last_hidden_state=torch.cat(states, dim=-1))


class _WithoutRenormalization(LogitsProcessor):
    """Undoes the softmax that beam search takes of the mean log-probabilities, which do not sum to one."""

    def __init__(self, ensemble: RnnSearchEnsemble) -> None:
        self.ensemble = ensemble

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        assert self.ensemble.log_normalizer is not None
        return scores + self.ensemble.log_normalizer


class RnnSearchEnsemble(PreTrainedModel, GenerationMixin):
    """Translates by the arithmetic mean of the members' log-probabilities, each with a decoder state of its own.

    As Jean et al. (2015 §5.2) do it. A hypothesis' score is the mean of its log-probabilities under
    the members; step by step these geometric means of probabilities do not sum to one, and are not renormalised.
    """

    config_class = RnnSearchConfig
    main_input_name = "input_ids"

    def __init__(self, members: Sequence[RnnSearchForConditionalGeneration]) -> None:
        if not members:
            raise ValueError("an ensemble needs a model")
        if len({(member.config.vocab_size, member.config.source_vocab_size) for member in members}) > 1:
            raise ValueError("the models of an ensemble have different vocabularies")
        # `post_init` is left out on purpose: it would initialise the members again.
        super().__init__(members[0].config)
        self.members = nn.ModuleList(members)
        self.encoder = _EnsembleEncoder(members)
        self.generation_config = members[0].generation_config
        self.log_normalizer: Tensor | None = None

    @classmethod
    def _supports_default_dynamic_cache(cls) -> bool:
        return False

    def get_encoder(self, *args: Any, **kwargs: Any) -> nn.Module:
        """Returns the encoders, as `generate` asks for them."""
        return self.encoder

    def prepare_decoder_input_ids_from_labels(self, labels: Tensor) -> Tensor:
        """Shifts the labels one to the right, behind the start token; (batch, target length)."""
        first: Any = self.members[0]
        shifted: Tensor = first.prepare_decoder_input_ids_from_labels(labels)
        return shifted

    def _annotations(self, encoder_outputs: Any) -> tuple[Tensor, ...]:
        members: list[Any] = list(self.members)
        sizes = [2 * int(member.config.hidden_size) for member in members]
        parts: tuple[Tensor, ...] = encoder_outputs[0].split(sizes, dim=-1)
        return parts

    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        decoder_input_ids: Tensor | None = None,
        encoder_outputs: Any = None,
        past_key_values: EnsembleCache | None = None,
        use_cache: bool | None = None,
        return_dict: bool | None = None,
    ) -> Seq2SeqLMOutput | tuple[Tensor, ...]:
        """Computes the mean log-probabilities of the next word.

        Args:
            input_ids: Source units, (batch, source length).
            attention_mask: 1 for real source units, (batch or rows, source length).
            decoder_input_ids: Previous target units from the start token on, (rows, target length).
            encoder_outputs: The encoder's result, if it is known.
            past_key_values: The decoders' caches.
            use_cache: Whether to return them.
            return_dict: Whether to return an output object instead of a tuple.

        Returns:
            `logits`: the mean of the members' log-probabilities, (rows, target length, vocabulary), fp32;
            `past_key_values`.
        """
        if encoder_outputs is None:
            encoder_outputs = self.encoder(input_ids, attention_mask)
        annotations = self._annotations(encoder_outputs)
        projections = getattr(encoder_outputs, "projections", None) or [None] * len(annotations)
        total, caches = None, []
        for place, member in enumerate(self.members):
            output = member(
                attention_mask=attention_mask,
                decoder_input_ids=decoder_input_ids,
                encoder_outputs=RnnSearchEncoderOutput(
                    last_hidden_state=annotations[place], projections=projections[place]
                ),
                past_key_values=None if past_key_values is None else past_key_values.members[place],
                use_cache=True,
            )
            log_probs = functional.log_softmax(output.logits.float(), dim=-1)
            total = log_probs if total is None else total + log_probs
            caches.append(output.past_key_values)
        assert total is not None
        logits = total / len(self.members)
        self.log_normalizer = logits[:, -1].logsumexp(-1, keepdim=True)
        result = Seq2SeqLMOutput(logits=logits, past_key_values=EnsembleCache(caches) if use_cache else None)
        return result if return_dict is None or return_dict else result.to_tuple()

    def generate(self, *args: Any, logits_processor: LogitsProcessorList | None = None, **kwargs: Any) -> Any:
        """Generates as every model of transformers does."""
        # What a step leaves for its processor belongs to one search: others may run at the same time.
        own = copy.copy(self)
        processors = LogitsProcessorList([_WithoutRenormalization(own), *(logits_processor or [])])
        return super(RnnSearchEnsemble, own).generate(*args, logits_processor=processors, **kwargs)

    def _expand_inputs_for_generation(
        self,
        expand_size: int = 1,
        is_encoder_decoder: bool = True,
        input_ids: Tensor | None = None,
        **model_kwargs: Any,
    ) -> tuple[Tensor, dict[str, Any]]:
        # As in the members: what the beams of a sentence share is computed before the rows are repeated.
        encoder_outputs = model_kwargs["encoder_outputs"]
        mask = model_kwargs.get("attention_mask")
        members: list[Any] = list(self.members)
        projections: Any = tuple(
            member.decoder.project_annotations(part, mask)
            for member, part in zip(members, self._annotations(encoder_outputs), strict=True)
        )
        model_kwargs["encoder_outputs"] = RnnSearchEncoderOutput(
            last_hidden_state=encoder_outputs[0], projections=projections
        )
        expanded: tuple[Tensor, dict[str, Any]] = super()._expand_inputs_for_generation(
            expand_size, is_encoder_decoder, input_ids, **model_kwargs
        )
        return expanded


def load_translation_models(
    folders: str | os.PathLike[str] | Sequence[str | os.PathLike[str]], *, device: str | None = None
) -> tuple[PreTrainedModel, PreTrainedTokenizerFast]:
    """Opens a translation model, or several as an ensemble.

    Args:
        folders: The folders, or the only one.
        device: Where to compute; a GPU if there is one and None is given.
    """
    if isinstance(folders, str | os.PathLike):
        folders = [folders]
    if not folders:
        raise UsageError("there is no translation model to open", remedy="name the folder of at least one")
    # A mistake in the last name is reported before the first model is read.
    for folder in folders:
        check_translation_model(folder)
    opened = [load_translation_model(folder, device=device) for folder in folders]
    model, tokenizer = opened[0]
    if len(opened) == 1:
        return model, tokenizer
    for folder, (_, other) in zip(folders[1:], opened[1:], strict=True):
        if _vocabularies(other) != _vocabularies(tokenizer):
            raise ModelError(
                f"another vocabulary than that of {os.fspath(folders[0])}",
                path=folder,
                remedy="the models of an ensemble must be trained on one bitext with one --vocab-size",
            )
    return RnnSearchEnsemble([model for model, _ in opened]).eval(), tokenizer


def _vocabularies(tokenizer: PreTrainedTokenizerFast) -> list[str]:
    """Returns all that decides how texts become units, on both sides."""
    backends = [tokenizer.backend_tokenizer, getattr(tokenizer, "source_tokenizer", None)]
    copies = [type(backend).from_str(backend.to_str()) for backend in backends if backend is not None]
    for backend in copies:
        backend.no_padding()
        backend.no_truncation()
    return [backend.to_str() for backend in copies]

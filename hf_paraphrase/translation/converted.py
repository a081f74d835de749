"""Beam search by CTranslate2 for the models of transformers that it converts, such as Marian, M2M100, mBART and T5."""

from __future__ import annotations

import copy
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from ..artefacts.files import opening
from ..errors import ModelError, UsageError
from .fast_search import fast_search_applies
from .loading import decoder_start
from .search_settings import SearchOptions

_REMEDY = "leave out --translation-engine"
_UNSUPPORTED = (
    "min_length",
    "min_new_tokens",
    "repetition_penalty",
    "encoder_repetition_penalty",
    "no_repeat_ngram_size",
    "encoder_no_repeat_ngram_size",
    "suppress_tokens",
    "begin_suppress_tokens",
    "sequence_bias",
    "exponential_decay_length_penalty",
    "guidance_scale",
)
"""Settings of a generation config that change what `generate` finds, and have no like in CTranslate2."""


class ConvertedModel:
    """A translation model in CTranslate2's format; it reads and writes the units of the model it was made of.

    Args:
        engine: `ctranslate2`, in fp32, or `ctranslate2-int8`, whose matrices have 8 bits.
        threads: Searches that run at the same time, each in a thread of its own.
    """

    def __init__(
        self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, engine: str, threads: int = 1
    ) -> None:
        try:
            import ctranslate2
        except ImportError as error:
            raise UsageError(
                f"--translation-engine {engine} needs the package ctranslate2",
                remedy="pip install 'hf-paraphrase[ctranslate2]'",
            ) from error
        self._settings: Any = model.generation_config
        self._start = decoder_start(model)
        self._is_marian = model.config.model_type == "marian"
        self._size = int(model.config.vocab_size) - self._is_marian
        _check_convertible(model, self._settings)
        arithmetic = "int8" if engine.endswith("int8") else "float32"
        with tempfile.TemporaryDirectory() as folder:
            converted = Path(folder) / "converted"
            with opening("with CTranslate2 the model", model.name_or_path or "a model in memory", remedy=_REMEDY):
                _convert(model, tokenizer, folder, converted, arithmetic)
                if not self._is_marian:
                    config = json.loads((converted / "config.json").read_text())
                    (converted / "config.json").write_text(
                        json.dumps({**config, "decoder_start_token": str(self._start[0])})
                    )
                self._translator = ctranslate2.Translator(
                    str(converted),
                    model.device.type,
                    device_index=model.device.index or 0,
                    compute_type=arithmetic,
                    inter_threads=threads,
                    intra_threads=max(1, torch.get_num_threads() // threads),
                )

    def search(
        self, input_ids: Sequence[Sequence[int]], limits: Sequence[int], options: SearchOptions
    ) -> list[list[list[int]]]:
        """Returns for every sentence units of translations behind the start, best first, with the end that they have.

        A sentence's search ends when it has as many translations as the beam is wide (`early_stopping` of `generate`),
        or at its limit, in units with the end.
        """
        found: list[list[list[int]]] = [[] for _ in input_ids]
        prefix, ends = self._start[1:], self._settings.eos_token_id
        ends = ends if isinstance(ends, list) else [ends]
        # The padding of a Marian model is no unit there.
        banned = [units for units in self._settings.bad_words_ids or [] if max(units) < self._size]
        for limit in sorted(set(limits)):
            # CTranslate2 has one limit a call.
            chosen = [index for index, own in enumerate(limits) if own == limit]
            results = self._translator.translate_batch(
                [_names(input_ids[index]) for index in chosen],
                [_names(prefix)] * len(chosen) if prefix else None,
                beam_size=options.num_beams,
                num_hypotheses=options.num_beams,
                length_penalty=options.length_penalty,
                suppress_sequences=list(map(_names, banned)) or None,
                end_token=ends,
                return_end_token=True,
                max_input_length=0,
                max_decoding_length=limit,
            )
            for index, result in zip(chosen, results, strict=True):
                hypotheses = [list(map(int, names[len(prefix) :])) for names in result.hypotheses]
                # In its lists those that are cut may stand before others that end.
                hypotheses.sort(key=lambda units: units[-1] not in ends)
                found[index] = hypotheses[: options.num_return_sequences]
        return found


def _names(units: Sequence[int]) -> list[str]:
    return list(map(str, units))


class _NumberedUnits:
    """What the converter asks of a tokenizer, where every unit is called by its number."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase, config: Any) -> None:
        self.special_tokens_map: dict[str, Any] = {}
        self._names = _names(range(config.vocab_size))
        if config.model_type == "marian":
            # By this name the converter leaves it out.
            self._names[config.pad_token_id] = "<pad>"
        self.bos_token, self.eos_token, self.unk_token, self.pad_token = (
            str(getattr(tokenizer, f"{kind}_token_id")) for kind in ("bos", "eos", "unk", "pad")
        )

    def get_vocab(self) -> dict[str, int]:
        return {name: unit for unit, name in enumerate(self._names)}

    def convert_ids_to_tokens(self, unit: int) -> str:
        return self._names[unit]


def _check_convertible(model: PreTrainedModel, settings: Any) -> None:
    """Refuses models that CTranslate2 would translate with otherwise than `generate`."""
    if fast_search_applies(model):
        raise UsageError("CTranslate2 does not know RNNsearch, which has a fast search of its own", remedy=_REMEDY)
    set_here = [name for name in _UNSUPPORTED if getattr(settings, name, None) not in (None, 0, 1.0)]
    if set_here:
        problem = f"CTranslate2 has no like of this setting of the generation config: {', '.join(set_here)}"
        raise ModelError(problem, path=model.name_or_path or None, remedy=_REMEDY)
    if model.config.model_type == "marian" and bool(
        model.get_input_embeddings().weight[decoder_start(model)[0]].any()
    ):
        problem = (
            "CTranslate2 starts Marian's translations with zeros, but the padding vector of this model has others"
        )
        raise ModelError(problem, path=model.name_or_path or None, remedy=_REMEDY)


def _convert(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, folder: str, output: Path, arithmetic: str
) -> None:
    """Writes a model that is open in the format of CTranslate2; `folder` is for its configuration."""
    from ctranslate2.converters import TransformersConverter

    class OpenModelConverter(TransformersConverter):
        """Takes the model that is open, so that no file is read a second time."""

        def load_model(self, *_: Any, **__: Any) -> PreTrainedModel:
            # The converter changes the configuration.
            own = copy.copy(model)
            own.config = copy.deepcopy(model.config)
            if own.config.model_type == "mbart":
                # Configurations that transformers 5 saves have no more fields for what all mBART models do.
                own.config.normalize_before = own.config.normalize_embedding = True
            return own

        def load_tokenizer(self, *_: Any, **__: Any) -> _NumberedUnits:
            return _NumberedUnits(tokenizer, model.config)

    model.config.save_pretrained(folder)
    OpenModelConverter(folder).convert(str(output), quantization=None if arithmetic == "float32" else arithmetic)

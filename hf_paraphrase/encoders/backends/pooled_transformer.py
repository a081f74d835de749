"""Transformers with a pooling, opened from folders of sentence-transformers without that library.

`modules.json` lists the modules in their order. This package reads the transformer, poolings and some kinds of layers;
sentence-transformers opens a folder with other modules, if it is installed. A folder without the list is pooled by the
mean.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from ...artefacts.files import (
    quiet_transformers,
    read_json_object,
    read_optional_json,
    wrap_load_errors,
    write_json,
)
from ...artefacts.model_loading import check_complete, open_tokenizer_folder
from ...artefacts.weights import read_headers
from ...errors import ModelError
from .base import LoadingOptions
from .batch_tokenizer import InputProcessing
from .sentence_transformers_files import (
    MODULES_FILE,
    TRANSFORMER_FILE,
    find_module_folder,
    read_module_kinds,
    read_modules,
    write_modules,
    write_processing,
)

_REMEDY = "give a sentence encoder that transformers opens: token vectors, a pooling, and dense layers if any"
_FLAGS = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}
"""The flags of older folders, in the order in which sentence-transformers concatenates poolings."""
_ACTIVATIONS = {
    f"{kind.__module__}.{kind.__name__}": kind
    for kind in (nn.Identity, nn.Tanh, nn.ReLU, nn.GELU, nn.SiLU, nn.Sigmoid)
}
"""The activation functions of dense layers, by their names in a folder."""
_TANH = "torch.nn.modules.activation.Tanh"
_WEIGHTS = "model.safetensors"


class VectorLayer(nn.Sequential):
    """A module of sentence-transformers after the pooling, with the `settings` of its folder."""

    def __init__(self, kind: str, settings: dict[str, Any], **parts: nn.Module) -> None:
        super().__init__(OrderedDict(parts))
        self.kind, self.settings = kind, settings


class _UnitLength(nn.Module):
    def forward(self, vectors: Tensor) -> Tensor:
        return nn.functional.normalize(vectors, dim=-1)


class PooledTransformer(nn.Module):
    """A transformer, the concatenation of poolings of its token vectors, and layers after them."""

    def __init__(
        self,
        transformer: nn.Module,
        poolings: Sequence[str] = ("mean",),
        layers: Sequence[VectorLayer] = (),
        include_prompt: bool = True,
    ) -> None:
        super().__init__()
        self.include_prompt = include_prompt
        self.transformer: Any = transformer
        self.config: Any = getattr(transformer, "config", None)
        self.poolings = list(poolings)
        self.layers: Any = nn.ModuleList(layers)
        self.training = transformer.training

    @property
    def dimension(self) -> int:
        """The number of components of an embedding."""
        sizes = [layer.settings["out_features"] for layer in self.layers if layer.kind == "Dense"]
        return int(sizes[-1] if sizes else self.config.hidden_size * len(self.poolings))

    def gradient_checkpointing_enable(self, **options: Any) -> None:
        """Save memory in training, as the Trainer requests."""
        self.transformer.gradient_checkpointing_enable(**options)

    @property
    def device(self) -> torch.device:
        """The device of the weights."""
        return next((value.device for value in self.parameters()), torch.device("cpu"))

    @property
    def dtype(self) -> torch.dtype:
        """The type of the transformer's weights."""
        return next((value.dtype for value in self.transformer.parameters()), torch.float32)

    def get_input_embeddings(self) -> nn.Module:
        """Return the embedding layer of the transformer."""
        embeddings: nn.Module = self.transformer.get_input_embeddings()
        return embeddings

    def forward(self, input_ids: Tensor, attention_mask: Tensor | None = None, unpooled: int = 0) -> SimpleNamespace:
        """Embed texts from their ids (texts, length), padded on the right, and a mask that is not 0 at tokens.

        The poolings leave out the first `unpooled` tokens. The embeddings are `pooler_output` (texts, dimension).
        """
        mask = torch.ones_like(input_ids) if attention_mask is None else attention_mask.long()
        # The decoder of a translation model is unused, but kept, so that the saved model opens again.
        reader = self.transformer.get_encoder() if self.config.is_encoder_decoder else self.transformer
        hidden = reader(input_ids=input_ids, attention_mask=mask).last_hidden_state
        mask = mask * (torch.arange(mask.shape[1], device=mask.device) >= unpooled)
        vectors = torch.cat([pool(pooling, hidden.float(), mask) for pooling in self.poolings], dim=1)
        for layer in self.layers:
            vectors = layer(vectors)
        return SimpleNamespace(last_hidden_state=hidden, pooler_output=vectors)

    def save(self, folder: Path, tokenizer: Any, processing: InputProcessing, options: Mapping[str, Any]) -> None:
        """Write a folder that sentence-transformers opens, and transformers without its pooling."""
        with quiet_transformers():
            self.transformer.save_pretrained(folder)
            tokenizer.save_pretrained(folder)
        kinds = ["Transformer", "Pooling", *(layer.kind for layer in self.layers)]
        _, pooling, *layer_folders = write_modules(folder, kinds, options)
        write_processing(folder, processing)
        # Older versions of sentence-transformers read the flags only, which have no order.
        flags = {flag: name in self.poolings for flag, name in _FLAGS.items()}
        modes = flags if len(self.poolings) == 1 else {"pooling_mode": self.poolings}
        settings = {
            "word_embedding_dimension": self.config.hidden_size,
            "include_prompt": self.include_prompt,
            **modes,
        }
        write_json(pooling / "config.json", settings)
        for layer_folder, layer in zip(layer_folders, self.layers, strict=True):
            write_json(layer_folder / "config.json", layer.settings)
            if weights := layer.state_dict():
                save_file(weights, layer_folder / _WEIGHTS, metadata={"format": "pt"})


def pool(pooling: str, hidden: Tensor, mask: Tensor) -> Tensor:
    """Pool the token vectors (texts, length, dim) where the mask (texts, length) is 1 into (texts, dim)."""
    texts = torch.arange(len(hidden), device=hidden.device)
    if pooling == "cls":
        return hidden[texts, mask.argmax(1)]
    if pooling == "lasttoken":
        return hidden[texts, mask.shape[1] - 1 - mask.flip(1).argmax(1)]
    weights = mask.unsqueeze(2).to(hidden.dtype)
    if pooling == "max":
        return hidden.masked_fill(weights == 0, -torch.inf).amax(1)
    if pooling == "weightedmean":
        weights = weights * torch.arange(1, hidden.shape[1] + 1, device=hidden.device).unsqueeze(1)
    total = weights.sum(1).clamp_min(1)
    return (hidden * weights).sum(1) / (total.sqrt() if pooling == "mean_sqrt_len_tokens" else total)


def open_transformer(folder: Path, options: LoadingOptions) -> tuple[PooledTransformer, Any, InputProcessing] | None:
    """Open a folder of sentence-transformers or transformers; return None for a folder with other modules.

    Returns the model in evaluation mode, its tokenizer and its processing. The pooling computes in float32.
    """
    from transformers import AutoModel, AutoModelForTextEncoding
    from transformers.models.auto.modeling_auto import MODEL_FOR_TEXT_ENCODING_MAPPING_NAMES

    if (modules := read_parts(folder)) is None:
        return None
    subfolder, parts = modules
    config = check_settings(folder, subfolder, options.trust_remote_code)
    if not read_headers(subfolder):
        raise ModelError(f"it has no {_WEIGHTS}", path=folder, remedy="convert it to safetensors first")
    text_class = MODEL_FOR_TEXT_ENCODING_MAPPING_NAMES.get(config.get("model_type"), "")
    # A T5 without its decoder is a class of its own.
    auto_class: Any = AutoModelForTextEncoding if text_class.endswith("T5EncoderModel") else AutoModel
    given = {"dtype": options.dtype or torch.float32, "use_safetensors": True, **(options.model_kwargs or {})}
    with wrap_load_errors("the sentence encoder", folder, _REMEDY):
        model, loading = auto_class.from_pretrained(
            subfolder,
            local_files_only=True,
            trust_remote_code=options.trust_remote_code,
            output_loading_info=True,
            ignore_mismatched_sizes=True,
            **given,
        )
    if getattr(model, "main_input_name", "input_ids") != "input_ids" or "vision_config" in config:
        raise ModelError(f"{type(model).__name__} does not read text alone", path=folder, remedy=_REMEDY)
    tokenizer = open_tokenizer_folder(
        subfolder, trust_remote_code=options.trust_remote_code, **(options.tokenizer_kwargs or {})
    )
    if not tokenizer.is_fast or tokenizer.pad_token_id is None or tokenizer.truncation_side != "right":
        what = "its tokenizer is not a fast one with a padding token that truncates on the right"
        raise ModelError(what, path=folder, remedy=_REMEDY)
    # Poolers and decoders are not used, so they may be missing.
    unused = ("pooler.", "decoder.") if model.config.is_encoder_decoder else ("pooler.",)
    check_complete({**loading, "unexpected_keys": ()}, folder, unused=unused)
    own = read_optional_json(subfolder / TRANSFORMER_FILE)
    processing = InputProcessing(max_tokens=own.get("max_seq_length"), lower_case=own.get("do_lower_case") is True)
    return PooledTransformer(model, **parts).eval(), tokenizer, describe_processing(model, tokenizer, processing)


def check_settings(folder: Path, subfolder: Path, trust_remote_code: bool) -> dict[str, Any]:
    """Refuse a transformer that is not a text encoder, and return its `config.json`."""
    from transformers.models.auto import configuration_auto, modeling_auto

    if not (subfolder / "config.json").is_file():
        what, remedy = "not a model folder: it has no config.json", _REMEDY
        if adapter := read_optional_json(subfolder / "adapter_config.json"):
            what = f"an adapter of {str(adapter.get('base_model_name_or_path'))[:80]} without that model"
            remedy = "merge the two with peft (merge_and_unload), and save the result"
        raise ModelError(what, path=folder, remedy=remedy)
    config = read_json_object(subfolder / "config.json", ModelError)
    model_type, code = str(config.get("model_type"))[:80], config.get("auto_map")
    if model_type not in configuration_auto.CONFIG_MAPPING and not (trust_remote_code and code):
        what, remedy = f"a model of type `{model_type}` is not a sentence encoder", _REMEDY
        if isinstance(code, dict) and "AutoModel" in code:
            what = f"a model of type `{model_type}` needs the code that it brings, {str(code['AutoModel'])[:80]}"
            remedy = "if you trust that code: hf-paraphrase --trust-remote-code COMMAND, or trust_remote_code=True"
        raise ModelError(what, path=folder, remedy=remedy)
    only_decoder = (
        model_type in modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
        and model_type not in modeling_auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES
        and not config.get("is_encoder_decoder")
    )
    if only_decoder and not (folder / MODULES_FILE).is_file():
        what = f"a model of type `{model_type}` is a decoder, and its folder has no pooling"
        raise ModelError(what, path=folder, remedy="give an encoder, or a folder of sentence-transformers")
    return config


def backbone_for_head(encoder: Any, path: str) -> tuple[Any, dict[str, int]]:
    """Return the backbone for a classification head, and the config values to add.

    The embeddings of a transformer must be the mean of its token vectors, normalized or not.
    """
    from transformers.models.auto.modeling_auto import MODEL_MAPPING_NAMES

    model, remedy = encoder.model, "train scikit-learn on its embeddings"
    if hasattr(model, "embeddings"):
        return model, {}
    if not isinstance(model, PooledTransformer) or model.config.model_type not in MODEL_MAPPING_NAMES:
        raise ModelError("a model of this kind cannot be trained", path=path, remedy=remedy)
    kinds = {layer.kind for layer in model.layers}
    if model.poolings != ["mean"] or not kinds <= {"Normalize"} or model.config.is_encoder_decoder:
        raise ModelError("only the mean of a transformer's token vectors can be trained", path=path, remedy=remedy)
    encoder.tokenizer.model_max_length = encoder.max_seq_length or encoder.tokenizer.model_max_length
    return model.transformer, {name: getattr(model.config, name) for name in ("vocab_size", "pad_token_id")}


def describe_processing(model: Any, tokenizer: Any, given: InputProcessing | None = None) -> InputProcessing:
    """Return the processing of a transformer, with no more tokens than it has positions."""
    given = given or InputProcessing()
    limits = (given.max_tokens or tokenizer.model_max_length, _count_positions(model))
    finite = [limit for limit in limits if limit is not None and limit < 1 << 30]
    return given.changed(max_tokens=min(finite, default=None), blank_is_empty=False)


def _count_positions(model: Any) -> int | None:
    """Count the tokens that have a position; the positions of a RoBERTa begin after its padding position."""
    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and getattr(module, "padding_idx", None) is not None:
            return int(module.num_embeddings) - int(module.padding_idx) - 1
    num_positions = getattr(model.config, "max_position_embeddings", None)
    return num_positions if isinstance(num_positions, int) and num_positions > 0 else None


def read_parts(folder: Path) -> tuple[Path, dict[str, Any]] | None:
    """Read the subfolder of the transformer, its poolings and its layers; return None for any other modules."""
    if not (folder / MODULES_FILE).is_file():
        return folder, {}
    modules, kinds = read_modules(folder), read_module_kinds(folder)
    folders = [find_module_folder(folder, module) for module in modules]
    is_plain = all(str(module["type"]).startswith("sentence_transformers.") for module in modules)
    if kinds[:2] != ["Transformer", "Pooling"] or not is_plain:
        return None
    pooling = read_optional_json(folders[1] / "config.json")
    parts = {"poolings": _read_poolings(pooling, folder), "include_prompt": pooling.get("include_prompt") is not False}
    layers = list(map(_read_layer, kinds[2:], folders[2:]))
    return None if None in layers else (folders[0], {**parts, "layers": layers})


def _read_poolings(settings: dict[str, Any], folder: Path) -> list[str]:
    # Newer folders give the modes by name, older ones as flags.
    unknown = [flag for flag in settings if flag.startswith("pooling_mode_") and flag not in _FLAGS]
    flags = [flag for flag in (*_FLAGS, *unknown) if settings.get(flag) is True]
    chosen = settings.get("pooling_mode") or [_FLAGS.get(flag, flag) for flag in flags]
    poolings = list(map(str, chosen)) if isinstance(chosen, list) else [str(chosen)]
    if not poolings or not set(poolings) <= set(_FLAGS.values()):
        what = f"the pooling {', '.join(poolings) or 'without a mode'} is not supported"
        raise ModelError(what, path=folder, remedy=f"use one of {', '.join(_FLAGS.values())}")
    return poolings


def _read_layer(kind: str | None, folder: Path) -> VectorLayer | None:
    """Read a module after the pooling; return None for an unsupported module."""
    settings = read_optional_json(folder / "config.json")
    between = {settings.pop(key, None) for key in ("module_input_name", "module_output_name")}
    if between - {None, "sentence_embedding"} or settings.pop("use_residual", False):
        return None
    with wrap_load_errors(f"the module {kind}", folder):
        if kind == "Normalize":
            return VectorLayer(kind, settings, unit_length=_UnitLength())
        if kind == "Dropout":
            return VectorLayer(kind, settings, dropout=nn.Dropout(settings.get("dropout", 0.2)))
        if kind == "LayerNorm":
            layer = VectorLayer(kind, settings, norm=nn.LayerNorm(settings["dimension"]))
        elif (activation := _ACTIVATIONS.get(settings.get("activation_function", _TANH))) and kind == "Dense":
            linear = nn.Linear(settings["in_features"], settings["out_features"], bias=settings.get("bias", True))
            layer = VectorLayer(kind, settings, linear=linear, activation=activation())
        else:
            return None
        if not (folder / _WEIGHTS).is_file():
            raise ModelError(f"it has no {_WEIGHTS}", path=folder, remedy="convert it to safetensors first")
        layer.load_state_dict(load_file(folder / _WEIGHTS))
    return layer

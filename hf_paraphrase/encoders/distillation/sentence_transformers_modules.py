"""What a folder of sentence-transformers says to do with a transformer's token vectors; no code of it runs.

`modules.json` lists what is done one after the other. Known are the transformer itself, poolings, dense layers with an
ordinary activation, and the division by the length; anything else is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...artefacts.files import opening, read_json
from ...artefacts.weights import read_header
from ...errors import ModelError

if TYPE_CHECKING:
    import torch
    from torch import Tensor

REMEDY = "give a sentence encoder that transformers opens: token vectors, a pooling, and dense layers if any"
_POOLINGS = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}
"""Flags of older folders, in the order in which their vectors are laid side by side."""
_ACTIVATIONS = ("Identity", "Tanh", "ReLU", "GELU", "SiLU", "Sigmoid")
_WEIGHTS = "model.safetensors"


@dataclass(frozen=True)
class DenseLayer:
    """A layer behind the pooling.

    Attributes:
        weight: (outputs, inputs).
        bias: (outputs,); None for none.
    """

    weight: Tensor
    bias: Tensor | None
    activation: Callable[[Tensor], Tensor]

    def __call__(self, vectors: Tensor) -> Tensor:
        """Maps vectors (texts, inputs) to (texts, outputs)."""
        import torch

        weight = self.weight.to(vectors.device)
        bias = None if self.bias is None else self.bias.to(vectors.device)
        return self.activation(torch.nn.functional.linear(vectors, weight, bias))


@dataclass(frozen=True)
class Modules:
    """What is done with a text.

    Attributes:
        poolings: How its token vectors become one; several are laid side by side.
        normalized: Whether the end is a division by the Euclidean norm.
        longest: How many tokens of a text are read at most, if the folder says so.
        lower_case: Whether a text is lower-cased before it is tokenised.
    """

    place: Path
    poolings: tuple[str, ...] = ("mean",)
    layers: tuple[DenseLayer, ...] = ()
    normalized: bool = False
    longest: int | None = None
    lower_case: bool = False
    prompt: str = ""


def read_modules(folder: Path) -> Modules:
    """Reads the files of a folder; one without `modules.json` is pooled by the mean."""
    path = folder / "modules.json"
    if not path.is_file():
        return _with_settings(Modules(folder))
    listed = read_json(path, ModelError)
    if not isinstance(listed, list):
        raise ModelError("damaged: not a list of modules", path=path, remedy="copy the model again")
    place, normalized = folder, False
    poolings: tuple[str, ...] = ("mean",)
    layers: list[DenseLayer] = []
    for module in listed:
        inside = module_folder(folder, module)
        kind = str(module.get("type")).rpartition(".")[2]
        if normalized and kind != "Normalize":
            raise ModelError(f"module `{kind}` after Normalize is not supported", path=folder, remedy=REMEDY)
        if kind == "Transformer":
            place = inside
        elif kind == "Pooling":
            poolings = _poolings(_settings(inside / "config.json"), folder)
        elif kind == "Dense":
            layers.append(_dense(inside))
        elif kind == "Normalize":
            normalized = True
        else:
            raise ModelError(f"module `{kind}` is not supported", path=folder / "modules.json", remedy=REMEDY)
    return _with_settings(Modules(place, poolings, tuple(layers), normalized), folder)


def pooled(poolings: tuple[str, ...], hidden: Tensor, mask: Tensor) -> Tensor:
    """Makes one vector of the token vectors of each text.

    Args:
        poolings: What is done, one beside the other.
        hidden: Token vectors (texts, length, dim), padded behind.
        mask: 1 where there is a token (texts, length).

    Returns:
        (texts, dim times the number of poolings).
    """
    import torch

    weights = mask.unsqueeze(2).to(hidden.dtype)

    def one(pooling: str) -> Tensor:
        if pooling == "cls":
            return hidden[:, 0]
        if pooling == "max":
            return hidden.masked_fill(weights == 0, -torch.inf).amax(1)
        if pooling == "lasttoken":
            last = (mask.sum(1) - 1).clamp_min(0)
            return hidden[torch.arange(len(hidden), device=hidden.device), last]
        counted = weights
        if pooling == "weightedmean":
            counted = weights * torch.arange(1, hidden.shape[1] + 1, device=hidden.device).view(1, -1, 1)
        total = counted.sum(1).clamp_min(1)
        return (hidden * counted).sum(1) / (total.sqrt() if pooling == "mean_sqrt_len_tokens" else total)

    return torch.cat([one(pooling) for pooling in poolings], dim=1)


def _settings(path: Path) -> dict[str, Any]:
    settings = read_json(path, ModelError) if path.is_file() else None
    return settings if isinstance(settings, dict) else {}


def _with_settings(modules: Modules, folder: Path | None = None) -> Modules:
    """Adds what the settings of a folder define about texts."""
    own = _settings(modules.place / "sentence_bert_config.json")
    longest = own.get("max_seq_length")
    return replace(
        modules,
        longest=longest if type(longest) is int and longest > 0 else None,
        lower_case=own.get("do_lower_case") is True,
        prompt=default_prompt(folder or modules.place),
    )


def default_prompt(folder: Path) -> str:
    """Reads what stands before every text, by the settings of a folder of sentence-transformers."""
    settings = _settings(folder / "config_sentence_transformers.json")
    named, name = settings.get("prompts"), settings.get("default_prompt_name")
    prompt = named.get(name) if isinstance(named, dict) and isinstance(name, str) else None
    return prompt if isinstance(prompt, str) else ""


def _poolings(settings: dict[str, Any], folder: Path) -> tuple[str, ...]:
    # Newer folders give the modes by name, older ones as a flag for each.
    named = settings.get("pooling_mode")
    if named is None:
        flags = [key for key in settings if key.startswith("pooling_mode_") and settings[key] is True]
        chosen = [name for key, name in _POOLINGS.items() if key in flags]
        chosen += [key for key in flags if key not in _POOLINGS]
    else:
        chosen = [str(item) for item in (named if isinstance(named, list) else [named])]
    if not chosen or not set(chosen) <= set(_POOLINGS.values()):
        raise ModelError(f"a pooling by {', '.join(chosen) or 'nothing'}", path=folder, remedy=REMEDY)
    return tuple(chosen)


def _dense(folder: Path) -> DenseLayer:
    """Opens a dense layer."""
    import torch
    from safetensors.torch import load_file

    settings = _settings(folder / "config.json")
    name = str(settings.get("activation_function", "torch.nn.modules.activation.Tanh")).rpartition(".")[2]
    between = {str(settings.get(key) or "sentence_embedding") for key in ("module_input_name", "module_output_name")}
    if name not in _ACTIVATIONS or between != {"sentence_embedding"} or settings.get("use_residual"):
        raise ModelError("this kind of dense layer is not supported", path=folder / "config.json", remedy=REMEDY)
    path = folder / _WEIGHTS
    if not path.is_file():
        raise ModelError(f"a dense layer without {_WEIGHTS}", path=folder, remedy="convert it to safetensors first")
    shapes = {key: entry.shape for key, entry in read_header(path).items()}
    outputs, inputs = settings.get("out_features"), settings.get("in_features")
    wanted = {"linear.weight": (outputs, inputs)} | ({"linear.bias": (outputs,)} if "linear.bias" in shapes else {})
    if shapes != wanted:
        raise ModelError("the weights do not fit the settings", path=path, remedy="copy the model again")
    with opening("the dense layer", path):
        tensors = load_file(path)
    bias = tensors.get("linear.bias")
    activation: torch.nn.Module = getattr(torch.nn, name)()
    return DenseLayer(tensors["linear.weight"].float(), None if bias is None else bias.float(), activation)


def module_folder(folder: Path, module: object) -> Path:
    """Returns the folder of a module, which must be in the model's own."""
    place = module.get("path", "") if isinstance(module, dict) else None
    if not isinstance(place, str) or Path(place).is_absolute() or ".." in Path(place).parts:
        raise ModelError(
            f"a module without a folder in this one: {str(module)[:100]}",
            path=folder / "modules.json",
            remedy="copy the model again, from a source that you trust",
        )
    return folder / place

"""The small files by which sentence-transformers opens the folder of a sentence encoder, read and written.

What is written has the older layout (`sentence_transformers.models.…` for the modules, `pooling_mode_…` switches for
the pooling), because old and new versions read it: 5.2 as it is, and 6.2 turns it into its own names.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...artefacts.files import read_json, read_json_object
from ...errors import ModelError

MODULES_FILE = "modules.json"
TRANSFORMER_FILE = "sentence_bert_config.json"
_OPTIONS_FILE = "config_sentence_transformers.json"
_LIBRARY = "sentence_transformers.models"
PACKAGE_MODULE = "hf_paraphrase.encoders.sentence_transformers_module.EncoderModule"
"""The class by which sentence-transformers opens folders that only this package reads."""


def optional_json(path: Path) -> dict[str, Any]:
    """Reads a JSON object of a model folder; returns an empty one if there is no such file."""
    return read_json_object(path, ModelError) if path.is_file() else {}


def module_kind(module: Any) -> str | None:
    """Names the class of a module of sentence-transformers, without the packages that it is in."""
    return str(module.get("type")).rpartition(".")[2] if isinstance(module, dict) else None


def check_module_types(folder: Path, trust_remote_code: bool) -> None:
    """Refuse third-party classes in a folder of sentence-transformers unless its code is trusted.

    Versions of that library before 6 import every class that a local folder names. Classes are named by
    `modules.json`, by the configuration of a router at any depth, and as activation functions of dense layers.

    Raises:
        ModelError: The folder names a class outside sentence-transformers, torch.nn and this package.
    """
    path = folder / MODULES_FILE
    if trust_remote_code or not path.is_file():
        return
    modules = read_json(path, ModelError)
    named = [(path, module.get("type")) for module in modules if isinstance(module, dict)]
    for config_path in sorted(folder.rglob("*config.json")):
        config = read_json(config_path, ModelError)
        types = config.get("types") if isinstance(config, dict) else None
        named += [(config_path, name) for name in (types.values() if isinstance(types, dict) else ())]
        activation = str(config.get("activation_function")) if isinstance(config, dict) else ""
        # transformers has names without a dot, such as `gelu`, which it does not import.
        if "." in activation and not activation.startswith("torch.nn."):
            named.append((config_path, activation))
    for named_in, name in named:
        if not str(name).startswith("sentence_transformers.") and name != PACKAGE_MODULE:
            what = f"the model names the class {str(name)[:100]}, which is third-party code"
            remedy = "if you trust that code: trust_remote_code=True, or hf-paraphrase --trust-remote-code COMMAND"
            raise ModelError(what, path=named_in, remedy=remedy)


def module_folder(folder: Path, module: object) -> Path:
    """Returns the folder of a module, which must be in the model's own."""
    place = module.get("path", "") if isinstance(module, dict) else None
    if not isinstance(place, str) or Path(place).is_absolute() or ".." in Path(place).parts:
        what = f"a module without a folder in this one: {str(module)[:100]}"
        raise ModelError(what, path=folder / MODULES_FILE, remedy="copy the model again, from a source that you trust")
    return folder / place


def read_options(folder: Path) -> dict[str, Any]:
    """Reads what `config_sentence_transformers.json` says: the prompts, the default one, and the components kept."""
    settings = optional_json(folder / _OPTIONS_FILE)
    named, default = settings.get("prompts"), settings.get("default_prompt_name")
    prompts = {name: text for name, text in named.items() if isinstance(text, str)} if isinstance(named, dict) else {}
    default = default if default in prompts else None
    return {"prompts": prompts, "default_prompt_name": default, "truncate_dim": settings.get("truncate_dim")}


def write_json(path: Path, value: Any) -> None:
    """Writes a file of settings."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def write_modules(folder: Path, kinds: Sequence[str], options: Mapping[str, Any] | None = None) -> list[Path]:
    """Writes the list of modules and the options, and returns the folders that the modules are to have."""
    names = ["", *(f"{number}_{kind}" for number, kind in enumerate(kinds) if number)]
    modules = [
        {"idx": number, "name": str(number), "path": name, "type": f"{_LIBRARY}.{kind}"}
        for number, (name, kind) in enumerate(zip(names, kinds, strict=True))
    ]
    write_json(folder / MODULES_FILE, modules)
    settings = {"prompts": {}, "default_prompt_name": None, **(options or {}), "similarity_fn_name": "cosine"}
    write_json(folder / _OPTIONS_FILE, settings)
    return [folder / name for name in names]


def write_module_files(
    folder: Path, hidden_size: int, options: Mapping[str, Any] | None = None, *, is_table: bool
) -> None:
    """Writes `modules.json` and what belongs to it for an encoder of ours.

    An average of word vectors is a `StaticEmbedding`, read from `model.safetensors` and `tokenizer.json` beside it,
    which model2vec opens too. Any other encoder is a `Transformer`, that is whatever `AutoModel` opens in the folder,
    and the mean over its tokens, which the contract on `last_hidden_state` makes the sentence embedding.
    """
    if is_table:
        write_modules(folder, ["StaticEmbedding"], options)
        return
    _, pooling = write_modules(folder, ["Transformer", "Pooling"], options)
    # Texts of any length are read whole; the tokenizer lower-cases where the encoder wants it.
    write_json(folder / TRANSFORMER_FILE, {"max_seq_length": None, "do_lower_case": False})
    modes = {"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": False, "pooling_mode_max_tokens": False}
    write_json(pooling / "config.json", {"word_embedding_dimension": hidden_size, **modes})


def write_package_module(folder: Path) -> None:
    """Writes the `modules.json` of a folder that sentence-transformers opens by this package alone, as one of int8."""
    write_json(folder / MODULES_FILE, [{"idx": 0, "name": "0", "path": "", "type": PACKAGE_MODULE}])

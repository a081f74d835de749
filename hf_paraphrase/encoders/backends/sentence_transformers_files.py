"""Reads and writes the small files of model folders that sentence-transformers opens too.

Folders are written in the older layout (`sentence_transformers.models.…` for the modules, `pooling_mode_…` flags for
the pooling), which sentence-transformers 5.2 reads as it is, and 6.2 converts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...artefacts.files import read_json, read_optional_json, write_json
from ...errors import ModelError
from .batch_tokenizer import InputProcessing

MODULES_FILE = "modules.json"
TRANSFORMER_FILE = "sentence_bert_config.json"
OPTIONS_FILE = "config_sentence_transformers.json"
ONNX_FILE = Path("onnx") / "model.onnx"
"""The path of the graph in a model folder, as in optimum and sentence-transformers."""
PACKAGE_KINDS = {"StaticEmbedding", "Transformer", "Pooling", "Normalize", "EncoderModule"}
"""The kinds of modules that may be listed in a folder of this package."""
SIMILARITY_FUNCTIONS = ("cosine", "dot", "euclidean", "manhattan")
_PROCESSING = "input_processing"
_LIBRARY = "sentence_transformers.models"
PACKAGE_MODULE = "hf_paraphrase.encoders.sentence_transformers_module.EncoderModule"
"""The class by which sentence-transformers opens folders that only this package reads."""


def is_onnx_folder(folder: Path) -> bool:
    """Return whether a folder has an ONNX graph and no weights of another kind."""
    return (folder / ONNX_FILE).is_file() and not any(folder.glob("*.safetensors"))


def read_modules(folder: Path) -> list[Any]:
    """Read the list of modules in `modules.json`; it is empty if there is no such file."""
    path = folder / MODULES_FILE
    modules = read_json(path, ModelError) if path.is_file() else []
    if not isinstance(modules, list):
        raise ModelError("not a list of modules", path=path, remedy="copy the model again")
    return modules


def read_module_kinds(folder: Path) -> list[str | None]:
    """Return the classes of the modules of a folder, without their packages."""
    return [
        str(module.get("type")).rpartition(".")[2] if isinstance(module, dict) else None
        for module in read_modules(folder)
    ]


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
    named = [(path, module.get("type")) for module in read_modules(folder) if isinstance(module, dict)]
    for config_path in sorted(folder.rglob("*config.json")):
        config = read_json(config_path, ModelError)
        types = config.get("types") if isinstance(config, dict) else None
        named += [(config_path, name) for name in (types.values() if isinstance(types, dict) else ())]
        activation = str(config.get("activation_function")) if isinstance(config, dict) else ""
        # Names without a dot, such as `gelu`, are built into transformers and not imported.
        if "." in activation and not activation.startswith("torch.nn."):
            named.append((config_path, activation))
    for named_in, name in named:
        if not str(name).startswith("sentence_transformers.") and name != PACKAGE_MODULE:
            what = f"the model names the class {str(name)[:100]}, which is third-party code"
            remedy = "if you trust that code: trust_remote_code=True, or hf-paraphrase --trust-remote-code COMMAND"
            raise ModelError(what, path=named_in, remedy=remedy)


def find_module_folder(folder: Path, module: object) -> Path:
    """Return the folder of a module, which must be inside the folder of the model."""
    path = module.get("path", "") if isinstance(module, dict) else None
    if not isinstance(path, str) or Path(path).is_absolute() or ".." in Path(path).parts:
        what = f"a module without a folder in this one: {str(module)[:100]}"
        raise ModelError(what, path=folder / MODULES_FILE, remedy="copy the model again, from a source that you trust")
    return folder / path


def read_options(folder: Path) -> dict[str, Any]:
    """Read prompts, truncation and similarity function from `config_sentence_transformers.json`."""
    settings = read_optional_json(folder / OPTIONS_FILE)
    named, default = settings.get("prompts"), settings.get("default_prompt_name")
    prompts = {name: text for name, text in named.items() if isinstance(text, str)} if isinstance(named, dict) else {}
    similarity = settings.get("similarity_fn_name")
    return {
        "prompts": prompts,
        "default_prompt_name": default if default in prompts else None,
        "truncate_dim": settings.get("truncate_dim"),
        "similarity_fn_name": similarity if similarity in SIMILARITY_FUNCTIONS else None,
    }


def read_processing(folder: Path, truncation: Mapping[str, Any] | None = None) -> InputProcessing:
    """Read the processing of a folder of this package, from the files that sentence-transformers reads too.

    `truncation` is the truncation of the tokenizer, read from `tokenizer.json` by default.
    """
    own = read_optional_json(folder / TRANSFORMER_FILE)
    options = read_optional_json(folder / OPTIONS_FILE).get(_PROCESSING)
    more = options if isinstance(options, dict) else {}
    if truncation is None:
        truncation = read_optional_json(folder / "tokenizer.json").get("truncation") or {}
    return InputProcessing(
        max_tokens=own.get("max_seq_length") or truncation.get("max_length"),
        max_characters=more.get("max_characters"),
        lower_case=own.get("do_lower_case") is True,
        normalize="Normalize" in read_module_kinds(folder) or more.get("normalize") is True,
        truncate_first=more.get("truncate_first") is True,
    )


def write_processing(folder: Path, processing: InputProcessing) -> None:
    """Write the processing of a folder, for :func:`read_processing` and sentence-transformers."""
    kinds = read_module_kinds(folder)
    if kinds[:1] == ["StaticEmbedding"]:
        _write_table_processing(folder, processing)
    else:
        lengths = {"max_seq_length": processing.max_tokens, "do_lower_case": processing.lower_case}
        write_json(folder / TRANSFORMER_FILE, {**read_optional_json(folder / TRANSFORMER_FILE), **lengths})
    if processing.normalize and kinds and "Normalize" not in kinds:
        name = f"{len(kinds)}_Normalize"
        write_json(folder / name / "config.json", {})
        write_json(folder / MODULES_FILE, [*read_modules(folder), _module(len(kinds), name, "Normalize")])
    more = {
        "max_characters": processing.max_characters,
        "truncate_first": processing.truncate_first,
        "normalize": processing.normalize and not kinds,
    }
    if any(more.values()):
        write_json(folder / OPTIONS_FILE, {**read_optional_json(folder / OPTIONS_FILE), _PROCESSING: more})


def _module(number: int, name: str, kind: str) -> dict[str, Any]:
    return {"idx": number, "name": str(number), "path": name, "type": f"{_LIBRARY}.{kind}"}


def write_options(folder: Path, options: Mapping[str, Any]) -> None:
    """Write prompts, truncation and similarity function into `config_sentence_transformers.json`."""
    defaults: dict[str, Any] = {"prompts": {}, "default_prompt_name": None, "similarity_fn_name": "cosine"}
    chosen = {name: value for name, value in options.items() if value is not None}
    write_json(folder / OPTIONS_FILE, {**defaults, **chosen})


def write_modules(folder: Path, kinds: Sequence[str], options: Mapping[str, Any] | None = None) -> list[Path]:
    """Write the list of modules and the options; return the folders of the modules."""
    names = ["", *(f"{number}_{kind}" for number, kind in enumerate(kinds) if number)]
    modules = [_module(number, name, kind) for number, (name, kind) in enumerate(zip(names, kinds, strict=True))]
    write_json(folder / MODULES_FILE, modules)
    write_options(folder, options or {})
    return [folder / name for name in names]


def write_module_files(
    folder: Path,
    hidden_size: int,
    options: Mapping[str, Any] | None = None,
    *,
    is_table: bool,
    processing: InputProcessing | None = None,
) -> None:
    """Write `modules.json` and its files for an encoder of this package.

    An average of word vectors is a `StaticEmbedding`, which model2vec opens too. Any other encoder is a `Transformer`
    that `AutoModel` opens, and a mean `Pooling`: the embedding of our encoders is the mean of `last_hidden_state`.
    """
    _, *others = write_modules(folder, ["StaticEmbedding"] if is_table else ["Transformer", "Pooling"], options)
    if not is_table:
        modes = {"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": False, "pooling_mode_max_tokens": False}
        write_json(others[0] / "config.json", {"word_embedding_dimension": hidden_size, **modes})
    write_processing(folder, processing or InputProcessing())


def _write_table_processing(folder: Path, processing: InputProcessing) -> None:
    """Write truncation and lower-casing into `tokenizer.json`, as a `StaticEmbedding` reads no other file."""
    if processing.max_tokens is None and not processing.lower_case:
        return
    tokenizer = read_optional_json(folder / "tokenizer.json")
    if processing.max_tokens is not None:
        rule = {"direction": "Right", "max_length": processing.max_tokens, "strategy": "LongestFirst", "stride": 0}
        tokenizer["truncation"] = rule
        # The limit of model2vec.
        config = read_optional_json(folder / "config.json")
        write_json(folder / "config.json", {**config, "max_length": processing.max_tokens})
    if processing.lower_case:
        steps = [{"type": "Lowercase"}, *([tokenizer["normalizer"]] if tokenizer.get("normalizer") else [])]
        tokenizer["normalizer"] = {"type": "Sequence", "normalizers": steps}
    write_json(folder / "tokenizer.json", tokenizer)


def write_package_module(folder: Path) -> None:
    """Write a `modules.json` that makes sentence-transformers open a folder, as of int8, through this package."""
    write_json(folder / MODULES_FILE, [{"idx": 0, "name": "0", "path": "", "type": PACKAGE_MODULE}])

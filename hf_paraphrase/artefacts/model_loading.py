"""Opens model folders (safetensors weights and tokenizers) without running their code, and with one-line errors."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ModelError
from ..models.joined_tokenizers import PARTS_FILE
from ..models.registry import register
from .files import read_json_object, read_optional_json, wrap_load_errors
from .hub_models import model_folder
from .weights import DTYPE_KEY, INT4, INT8, check_finite, load_integer_table, read_headers

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

_REMEDY = "train the model or copy it again"


def check_model_type(folder: str | os.PathLike[str], expected: Sequence[str], *, kind: str, verb: str) -> str:
    """Return the model type in `config.json`; refuse an unexpected one. `kind` and `verb` are for the error."""
    folder = model_folder(folder)
    remedy = f"give a folder that {verb} made"
    if not folder.is_dir():
        problem = "this is a file, not a model folder" if folder.exists() else "no such model folder"
        raise ModelError(problem, path=folder, remedy=f"{remedy}, or namespace/name of such a model on the Hub")
    path = folder / "config.json"
    if not path.exists():
        raise ModelError("not a model folder: it has no config.json", path=folder, remedy=remedy)
    model_type = read_json_object(path, ModelError).get("model_type")
    if model_type not in expected:
        remedy = f"give one of type {', '.join(expected)}, made by {verb}"
        raise ModelError(f"a model of type `{str(model_type)[:80]}` is not a {kind}", path=folder, remedy=remedy)
    if not any(folder.glob("*.safetensors")):
        raise ModelError("the model has no weights (model.safetensors)", path=folder, remedy=_REMEDY)
    return str(model_type)


def class_of_folder(folder: str | os.PathLike[str], auto_class: str) -> str | None:
    """Return the class of a model folder's own code for an Auto class, as `file.Class`; None without code."""
    classes = read_json_object(Path(folder) / "config.json", ModelError).get("auto_map")
    code = classes.get(auto_class) if isinstance(classes, dict) else None
    return None if code is None else str(code).rpartition("--")[2]


def check_class(folder: str | os.PathLike[str], model_class: type[PreTrainedModel]) -> None:
    """Refuse weights of another class with the same model type, whose results would differ."""
    code = class_of_folder(folder, model_class._auto_class or "AutoModel")
    wanted = f"{model_class.__module__.rpartition('.')[2]}.{model_class.__name__}"
    # A class of the package is in one file; a class of the user may be in a file that was renamed.
    is_of_package = wanted.startswith("modeling_") and model_class.__module__.startswith("hf_paraphrase.")
    start = None if is_of_package else -1
    if code is not None and code.split(".")[start:] != wanted.split(".")[start:]:
        problem = f"the model has its own class, `{code[:80]}`, not {model_class.__name__}"
        remedy = "open it with the Auto class of transformers and trust_remote_code=True"
        raise ModelError(problem, path=folder, remedy=remedy)


def load_model_folder(
    folder: str | os.PathLike[str], model_class: type[PreTrainedModel], **settings: Any
) -> tuple[PreTrainedModel, PreTrainedTokenizerFast]:
    """Load a model, in evaluation mode and on the CPU, and its tokenizer; `settings` override the configuration."""
    folder = model_folder(folder)
    model = load_weights(folder, model_class, **settings)
    return model, load_tokenizer(folder, model.config.vocab_size)


def load_weights(
    folder: str | os.PathLike[str], model_class: type[PreTrainedModel], **settings: Any
) -> PreTrainedModel:
    """Load the model of a folder whose model type has been checked."""
    _check_json(Path(folder), ("config.json", "generation_config.json", "model.safetensors.index.json"))
    check_class(folder, model_class)
    if read_json_object(Path(folder) / "config.json", ModelError).get(DTYPE_KEY) in (INT8, INT4):
        return load_integer_table(folder, model_class, **settings)
    read_headers(folder)  # names the file that is damaged
    with wrap_load_errors("the model", folder, _REMEDY):
        model, loading = model_class.from_pretrained(
            folder,
            local_files_only=True,
            output_loading_info=True,
            use_safetensors=True,
            trust_remote_code=False,
            ignore_mismatched_sizes=True,
            **settings,
        )
    check_complete(loading, folder)
    check_finite(model, folder)
    return model.eval()


def load_transformers_model(
    folder: Path, auto_class: str, *, kind: str, remedy: str, **settings: Any
) -> PreTrainedModel:
    """Load a model of a built-in type of transformers by an Auto class, without third-party code.

    `kind` and `remedy` are for the error about another model.
    """
    import transformers

    register()
    path = folder / "config.json"
    model_type = read_optional_json(path).get("model_type")
    check_model_type(folder, [str(model_type)], kind=kind, verb="transformers")
    with wrap_load_errors("the model", path):
        config = transformers.AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    model_class = getattr(transformers, auto_class)._model_mapping.get(type(config), None)
    if model_class is None or not model_class.__module__.startswith("transformers."):
        problem = f"a model of type `{str(model_type)[:80]}` is not a {kind}"
        raise ModelError(problem, path=folder, remedy=remedy)
    return load_weights(folder, model_class, **settings)


def check_complete(loading: dict[str, Any], folder: str | os.PathLike[str], *, unused: Sequence[str] = ()) -> None:
    """Refuse weights that do not fit the configuration; only weights of `unused` modules may be missing."""
    missing = [name for name in loading["missing_keys"] if not any(f".{part}" in f".{name}" for part in unused)]
    wrong = [f"missing {name}" for name in sorted(missing)]
    wrong += [f"unexpected {name}" for name in sorted(loading["unexpected_keys"])]
    wrong += [
        f"{name} is {list(stored)}, not {list(wanted)}" for name, stored, wanted in sorted(loading["mismatched_keys"])
    ]
    if wrong:
        problem = f"the weights do not fit the configuration: {', '.join(wrong[:3])}{' …' * (len(wrong) > 3)}"
        raise ModelError(problem, path=folder, remedy=_REMEDY)


def load_tokenizer(folder: str | os.PathLike[str], vocab_size: int) -> PreTrainedTokenizerFast:
    """Load the tokenizer of a model folder; an id without a vector is an error."""
    tokenizer = open_tokenizer_folder(Path(folder))
    highest = max(tokenizer.get_vocab().values(), default=0)
    if highest >= vocab_size:
        problem = f"the tokenizer has ids up to {highest}, the model {vocab_size} vectors"
        raise ModelError(problem, path=folder, remedy="the tokenizer files belong to another model")
    return tokenizer


def open_tokenizer_folder(
    folder: str | os.PathLike[str], *, trust_remote_code: bool = False, **options: Any
) -> PreTrainedTokenizerFast:
    """Open a tokenizer folder with transformers; a `ModelError` names the file that is damaged."""
    from transformers import AutoTokenizer

    register()
    _check_json(Path(folder), ("config.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"))
    files = [Path(folder) / name for name in ("tokenizer.json", PARTS_FILE)]
    with wrap_load_errors("the tokenizer", next((path for path in files if path.is_file()), folder), _REMEDY):
        given = {"local_files_only": True, "trust_remote_code": trust_remote_code, **options}
        tokenizer = AutoTokenizer.from_pretrained(folder, **given)
    # Without tokenizer files, transformers makes a tokenizer of special tokens only.
    if len(tokenizer) <= len(tokenizer.all_special_tokens):
        raise ModelError("the model has no tokenizer", path=folder, remedy="save the tokenizer in the same folder")
    return tokenizer


def _check_json(folder: Path, names: Sequence[str]) -> None:
    for name in names:
        if (folder / name).exists():
            read_json_object(folder / name, ModelError)

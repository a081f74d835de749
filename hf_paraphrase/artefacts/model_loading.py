"""Opens model folders for the commands, with errors that a user can act on."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ModelError
from ..messages import shown_line
from .divergence import check_finite
from .hub_models import model_folder
from .int8_tables import is_int8_folder, load_int8_table
from .untrusted_files import read_json_object
from .untrusted_models import check_model_folder, check_tensors, opening

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

_REMEDY = "train or copy it again"
_SHOWN = 40


def check_model_type(folder: str | os.PathLike[str], expected: Sequence[str], *, kind: str, verb: str) -> str:
    """Returns the model type of a folder if it is an expected one; reads nothing but `config.json`.

    Args:
        folder: The model folder, or the name of a repository of the Hub; see :func:`~.hub_models.model_folder`.
        expected: The model types that will do.
        kind: What they are called, e.g. `sentence encoder`, for the message.
        verb: The verb that makes such folders, for the remedy.

    Raises:
        ModelError: If the folder is missing, has no readable `config.json` or no weights, or is of another type.
        HubError: If it is a repository of the Hub and cannot be fetched.
    """
    folder = model_folder(folder)
    remedy = f"give a folder that {verb} made"
    if not folder.is_dir():
        problem = "this is a file, not a model folder" if folder.exists() else "no such model folder"
        raise ModelError(problem, path=folder, remedy=f"{remedy}, or namespace/name of such a model on the Hub")
    path = folder / "config.json"
    if not os.path.lexists(path):
        raise ModelError("not a model folder: it has no config.json", path=folder, remedy=remedy)
    found = read_json_object(path, ModelError).get("model_type")
    if found not in expected:
        raise ModelError(
            f"a model of type `{str(found)[:80]}` is not a {kind}",
            path=folder,
            remedy=f"give one of type {', '.join(expected)}, made by {verb}",
        )
    if not any(folder.glob("*.safetensors")):
        raise ModelError("the model has no weights (model.safetensors)", path=folder, remedy="copy the model again")
    return str(found)


def class_of_folder(folder: str | os.PathLike[str], auto_class: str) -> str | None:
    """Returns the class that the code of a model folder gives one of transformers' Auto classes, as `file.Class`.

    Args:
        folder: The folder.
        auto_class: The name of the Auto class.

    Returns:
        The class without the repository that it may come from; None for a folder that names none.

    Raises:
        ModelError: If `config.json` is damaged.
    """
    named = read_json_object(Path(folder) / "config.json", ModelError).get("auto_map")
    found = named.get(auto_class) if isinstance(named, dict) else None
    return None if found is None else str(found).rpartition("--")[2]


def check_class(folder: str | os.PathLike[str], model_class: type[PreTrainedModel]) -> None:
    """Refuses a folder whose weights are of another class, of the same model type, than that which is to take them.

    Raises:
        ModelError: If it is of such a class: the same weights would compute something else.
    """
    file, name = model_class.__module__.rpartition(".")[2], model_class.__name__
    found = class_of_folder(folder, model_class._auto_class or "AutoModel")
    # One of our classes is in one file; one of a user's may be in a file that was renamed.
    is_ours = file.startswith("modeling_") and model_class.__module__.startswith(__package__.partition(".")[0])
    if found is None or found == f"{file}.{name}" or (not is_ours and found.rpartition(".")[2] == name):
        return
    raise ModelError(
        f"the model is of a class of its own, `{found[:80]}`, and not {name}",
        path=folder,
        remedy="open it with the Auto class of transformers and trust_remote_code=True",
    )


def check_token_ids(folder: str | os.PathLike[str]) -> None:
    """Refuses a folder whose configuration names special tokens by something else than ids of its vocabulary.

    transformers takes whatever is there, and the first batch that is padded with it ends in an error of PyTorch.

    Args:
        folder: A folder that :func:`~.untrusted_models.check_model_folder` found in order.

    Raises:
        ModelError: If a token id, of the model or of one in it, is neither null nor an id, or several that end a text.
    """
    for name in ("config.json", "generation_config.json"):
        path = Path(folder) / name
        if not path.exists():
            continue
        config = read_json_object(path, ModelError)
        for settings in (config, *(value for value in config.values() if isinstance(value, dict))):
            size = settings.get("vocab_size")
            # A senseless size is for those to refuse who make the model.
            size = size if type(size) is int and size > 0 else None
            for key, value in settings.items():
                if key.endswith("_token_id") and not _is_token_id(key, value, size):
                    below = f" below {size}" if size else ""
                    raise ModelError(
                        f"`{key}` is {shown_line(json.dumps(value), _SHOWN)}, which is no token id",
                        path=path,
                        remedy=f"make it the number of the token, at least 0{below}, or null",
                    )


def _is_token_id(key: str, value: Any, size: int | None) -> bool:
    """Tells whether a value is null or the id of a token of a vocabulary of that size; several may end a text."""
    several = isinstance(value, list) and key.endswith("eos_token_id")
    return value is None or all(
        type(item) is int and item >= 0 and (size is None or item < size) for item in (value if several else [value])
    )


def load_model_folder(
    folder: str | os.PathLike[str], model_class: type[PreTrainedModel], **settings: Any
) -> tuple[PreTrainedModel, PreTrainedTokenizerFast]:
    """Loads weights and tokenizer and checks that they are complete and fit each other.

    Args:
        folder: A folder, or a repository of the Hub, whose model type was checked.
        model_class: The class of that type.
        **settings: Values of the configuration that are other than in the folder.

    Returns:
        The model in evaluation mode, on the CPU, and its tokenizer.

    Raises:
        ModelError: If anything is damaged, missing, left over, not finite, of another model, or leads out of the
            folder.
    """
    folder = model_folder(folder)
    model = load_weights(folder, model_class, **settings)
    return model, load_tokenizer(folder, model.config.vocab_size)


def load_weights(
    folder: str | os.PathLike[str], model_class: type[PreTrainedModel], **settings: Any
) -> PreTrainedModel:
    """Loads the weights of a model folder; see :func:`load_model_folder`.

    Raises:
        ModelError: If anything is damaged, missing, left over, not finite, of another model, or leads out of the
            folder.
    """
    tensors = check_model_folder(folder)
    check_token_ids(folder)
    check_class(folder, model_class)
    if is_int8_folder(folder):
        return load_int8_table(folder, model_class, tensors, **settings)
    check_tensors(model_class, folder, tensors, settings)
    with opening("the model", folder, _REMEDY):
        model, loading = model_class.from_pretrained(
            folder,
            local_files_only=True,
            output_loading_info=True,
            use_safetensors=True,
            trust_remote_code=False,
            **settings,
        )
    wrong = sorted(map(str, [*loading["missing_keys"], *loading["unexpected_keys"], *loading["mismatched_keys"]]))
    if wrong:
        raise ModelError(f"the weights do not fit the configuration: {', '.join(wrong)}", path=folder, remedy=_REMEDY)
    check_finite(model, folder)
    return model.eval()


def load_tokenizer(folder: str | os.PathLike[str], vocabulary_size: int) -> PreTrainedTokenizerFast:
    """Loads the tokenizer of a model folder that was checked, and checks that the model has a vector for every id.

    Args:
        folder: The folder.
        vocabulary_size: The number of vectors.

    Raises:
        ModelError: If it is damaged, missing, or of another model.
    """
    from transformers import AutoTokenizer

    with opening("the model", folder, _REMEDY):
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    highest = max(tokenizer.get_vocab().values(), default=0)
    if highest >= vocabulary_size:
        raise ModelError(
            f"the tokenizer has ids up to {highest}, the model {vocabulary_size} vectors",
            path=folder,
            remedy="the tokenizer files belong to another model",
        )
    return tokenizer

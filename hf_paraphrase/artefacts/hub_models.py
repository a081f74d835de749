"""Names of models: `builtin`, the encoder in the package, `namespace/name` on the Hub, and folders.

Of a repository only data is fetched: settings, weights in safetensors or as an ONNX graph, tokenizers and cards; no
code. A model of another type may have hundreds of gigabytes: of it only the settings are fetched.
"""

from __future__ import annotations

import glob
import os
from pathlib import Path

from ..errors import HfParaphraseError, HubError, ModelError
from ..models.registry import MODELS
from ..registry import BUILTIN as BUILTIN
from .files import read_bytes, read_json_object

_SETTINGS = "config.json"
_MODULES = "modules.json"
_TOKENIZER = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json")
_NUMBER = "[0-9]" * 5
# In a pattern of the Hub's client `*` also stands for `/`, and so for whatever else the repository holds.
FETCHED = (
    _SETTINGS,
    "generation_config.json",
    "model.safetensors",
    "model.safetensors.index.json",
    f"model-{_NUMBER}-of-{_NUMBER}.safetensors",
    "onnx/model.onnx",
    *_TOKENIZER,
    "tokenizers.json",
    "source_tokenizer.json",
    *(f"{side}_tokenizer/{name}" for side in ("source", "target") for name in _TOKENIZER),
    _MODULES,
    "sentence_bert_config.json",
    "config_sentence_transformers.json",
    "1_Pooling/config.json",
    "README.md",
    "provenance.json",
    "source_provenance.json",
    "references.tsv",
)
"""All files of the model folders of this package except code."""
_OTHER_LIBRARIES = (
    *FETCHED,
    "vocab.txt",
    "0_StaticEmbedding/model.safetensors",
    "0_StaticEmbedding/tokenizer.json",
    *(f"{number}_Dense/{name}" for number in (2, 3) for name in (_SETTINGS, "model.safetensors")),
)
"""The same for sentence encoders of other libraries."""
BUILTIN_FOLDER = Path(__file__).parents[1] / "encoders" / BUILTIN
_FOLDERS: dict[tuple[str, str | None], Path] = {}
"""The folders that this process fetched, by name and revision."""


def model_folder(
    name: str | os.PathLike[str], *, revision: str | None = None, any_type: bool = False, with_code: bool = False
) -> Path:
    """Returns the folder of a model, which is fetched from the Hub if necessary.

    Args:
        name: A folder; or, as text, `builtin`; or, as text and if no such file or folder exists, a repository
            `namespace/name`, or `namespace/name/folder` for a folder of one. A folder with the name `builtin` is
            written `./builtin`, or given as a path object.
        revision: The branch, tag or commit of a repository; `main` by default.
        any_type: Fetch also models whose type is not one of this package's.
        with_code: Fetch also their code, which somebody trusts.

    Returns:
        The folder. A name that is neither a folder nor a valid name of a repository is returned as a path.

    Raises:
        ModelError: If the name is empty, the Hub has no such repository or model, or this installation has no
            built-in encoder.
        HubError: If the Hub cannot be reached, and there is no earlier copy of the model.
    """
    if name == "":
        raise ModelError("the name of the model is empty", remedy="name a model folder")
    if name == BUILTIN:
        if not BUILTIN_FOLDER.is_dir():
            raise ModelError(
                "this installation has no built-in encoder",
                path=name,
                remedy="install the package from its wheel, or name a model folder",
            )
        return BUILTIN_FOLDER
    repository = _repository(name)
    if repository is None:
        return Path(name)
    key = (str(name), revision)
    if key in _FOLDERS and _FOLDERS[key].is_dir():
        return _FOLDERS[key]
    folder, is_complete = _fetch(*repository, revision, any_type, with_code)
    if is_complete:
        _FOLDERS[key] = folder
    return folder


def fetched_folder(name: str | os.PathLike[str]) -> Path | None:
    """Returns the folder of `builtin`, or the one that this process fetched by a name; None for anything else."""
    if name == BUILTIN:
        return BUILTIN_FOLDER
    return _FOLDERS.get((name, None)) if isinstance(name, str) and not os.path.lexists(name) else None


def repository_name(model: str | os.PathLike[str]) -> str | None:
    """Returns the name by which this process fetched a model, `name@revision` if one was given; None if it did not.

    `model` is the name or the folder of the model. The name of the built-in encoder is `builtin`.
    """
    if model == BUILTIN or Path(model) == BUILTIN_FOLDER:
        return BUILTIN
    for (name, revision), folder in _FOLDERS.items():
        if folder == Path(model) or (name, revision) == (model, None):
            return name if revision is None else f"{name}@{revision}"
    return None


def _repository(name: str | os.PathLike[str]) -> tuple[str, str] | None:
    """Splits a name into a repository and a folder in it, which may be empty; None for any other name."""
    if not isinstance(name, str) or os.path.lexists(name):
        return None
    parts = name.split("/")
    if len(parts) < 2 or any(part in {"", ".", ".."} for part in parts):
        return None
    # A longer name that begins with an existing folder is a mistyped path.
    if len(parts) > 2 and Path(parts[0]).exists():
        return None
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils import validate_repo_id

    repo_id = "/".join(parts[:2])
    try:
        validate_repo_id(repo_id)
    except HFValidationError:
        return None
    return repo_id, "/".join(parts[2:])


def _fetch(repo_id: str, inner: str, revision: str | None, any_type: bool, with_code: bool) -> tuple[Path, bool]:
    """Fetches a model; returns its folder, and whether it is complete or has the settings alone."""
    folder = _download(repo_id, inner, revision, (_SETTINGS, _MODULES))
    settings, modules = folder / _SETTINGS, folder / _MODULES
    model_type = read_json_object(settings, ModelError).get("model_type") if settings.is_file() else None
    if model_type in tuple(MODELS):
        return _download(repo_id, inner, revision, FETCHED), True
    is_static = modules.is_file() and b"StaticEmbedding" in read_bytes(modules, ModelError)
    is_fast = model_type == "model2vec" or (model_type is None and is_static)
    if is_fast or (any_type and (settings.is_file() or modules.is_file())):
        names = (*_OTHER_LIBRARIES, "*.py") if with_code else _OTHER_LIBRARIES
        return _download(repo_id, inner, revision, names), True
    if settings.is_file():
        return folder, False
    what = f"no folder {inner} with a model" if inner else "no model"
    raise ModelError(
        f"the repository has {what}: there is no {_SETTINGS}",
        path=repo_id,
        remedy="see its list of files on the Hub; namespace/name/folder names a model in a folder of it",
    )


def _download(repo_id: str, inner: str, revision: str | None, names: tuple[str, ...]) -> Path:
    """Fetches some files of a folder of a repository, and returns the path of that folder."""
    import huggingface_hub

    patterns = [f"{glob.escape(inner)}/{name}" if inner else name for name in names]
    problem: HfParaphraseError
    try:
        return Path(huggingface_hub.snapshot_download(repo_id, revision=revision, allow_patterns=patterns)) / inner
    # The client raises errors of several libraries; their texts are long and may hold URLs with keys.
    except Exception as error:
        problem = _explain(error, repo_id, revision)
    raise problem from None


def _explain(error: Exception, repo_id: str, revision: str | None) -> HfParaphraseError:
    from huggingface_hub import constants, errors

    url = f"{constants.ENDPOINT}/{repo_id}"
    if isinstance(error, errors.GatedRepoError):
        message = "no such model folder, and the model on the Hub is gated"
        return ModelError(message, path=repo_id, remedy=f"accept its terms at {url}, then log in with `hf auth login`")
    if isinstance(error, errors.RepositoryNotFoundError):
        message = "no such model folder, and no such model on the Hub that you may see"
        remedy = "give a folder, or namespace/name of a model there; for a private one log in with `hf auth login`"
        return ModelError(message, path=repo_id, remedy=remedy)
    if isinstance(error, errors.RevisionNotFoundError):
        return ModelError(f"the model on the Hub has no revision `{revision}`", path=repo_id, remedy=f"see {url}")
    if constants.HF_HUB_OFFLINE or isinstance(error, errors.OfflineModeIsEnabled):
        message = "no such model folder, and the Hub's client is offline and has no copy of such a model"
        return HubError(message, path=repo_id, remedy="give a folder, or unset HF_HUB_OFFLINE")
    status = getattr(getattr(error, "response", None), "status_code", None)
    reason = type(error.__cause__ or error).__name__ if status is None else f"status {status}"
    message = f"no such model folder, and the Hub cannot be reached: {reason}"
    return HubError(message, path=repo_id, remedy=f"give a folder, or check your network and {constants.ENDPOINT}")

"""Finds models by name: `builtin` and `multilingual` in the package, `namespace/name` on the Hub, and folders."""

from __future__ import annotations

import glob
import os
from pathlib import Path
from typing import Any

from ..errors import HubError, ModelError
from ..inputs import repository_of
from ..messages import sanitize_line
from ..models.registry import MODELS
from ..registry import BUILTIN as BUILTIN
from ..registry import BUILTINS
from .files import read_bytes, read_optional_json
from .fsspec_path import to_path

_SETTINGS, _MODULES = "config.json", "modules.json"
FETCHED = ("*.json", "*.safetensors", "*.txt", "*.tsv", "*.model", "*.spm", "README.md", "onnx/model.onnx")
"""The files of model folders without code; in a pattern of the Hub's client `*` also matches `/`."""
NOT_FETCHED = ("*checkpoint*/*", "data/*")
BUILTIN_FOLDERS = {name: Path(__file__).parents[1] / "encoders" / name for name in BUILTINS}
_FOLDERS: dict[tuple[str, str | None], Path] = {}
"""The cached folders that this process fetched, by name and revision."""
_WITH_CODE: set[Path] = set()
"""The folders that were fetched with code."""


def model_folder(
    name: str | os.PathLike[str],
    *,
    revision: str | None = None,
    any_type: bool = False,
    with_code: bool = False,
    **client_options: Any,
) -> Path:
    """Return the folder of a model, which is fetched from the Hub if necessary.

    Args:
        name: A folder; or, as text, `builtin` or `multilingual`; or, as text and if no such file or folder exists, a
            repository `namespace/name`, or `namespace/name/folder` for a folder of one. A folder with the name
            `builtin` is written `./builtin`, or given as a path object.
        revision: The branch, tag or commit of a repository; `main` by default.
        any_type: Fetch models of other packages too, which may have hundreds of gigabytes.
        with_code: Fetch the code of the model too, if the user trusts it.
        client_options: `token`, `cache_dir` and `local_files_only` of the Hub's client.
    """
    if name == "":
        raise ModelError("the name of the model is empty", remedy="name a model folder")
    if name in BUILTIN_FOLDERS:
        folder = BUILTIN_FOLDERS[str(name)]
        if not folder.is_dir():
            remedy = "install the package from its wheel, or name a model folder"
            raise ModelError("this installation has no built-in encoder", path=name, remedy=remedy)
        return folder
    repository = repository_of(name)
    if repository is None:
        return Path(name)
    key = (str(name), revision)
    fetched = _FOLDERS.get(key)
    is_complete = fetched is not None and fetched.is_dir() and (fetched in _WITH_CODE or not with_code)
    if fetched is not None and is_complete and client_options.get("cache_dir") is None:
        return fetched
    folder = _download(*repository, revision, (_SETTINGS, _MODULES), **client_options)
    if not (_is_supported(folder, str(name)) or any_type):
        return folder  # only its settings: the caller refuses it
    patterns = (*FETCHED, "*.py") if with_code else FETCHED
    folder = _FOLDERS[key] = _download(*repository, revision, patterns, **client_options)
    if with_code:
        _WITH_CODE.add(folder)
    return folder


def fetched_folder(name: str | os.PathLike[str]) -> Path | None:
    """Return the folder of a built-in encoder or of a model that this process fetched; None for other names."""
    if name in BUILTIN_FOLDERS:
        return BUILTIN_FOLDERS[str(name)]
    return _FOLDERS.get((name, None)) if isinstance(name, str) and not os.path.lexists(name) else None


def repository_name(model: str | os.PathLike[str]) -> str | None:
    """Return the name of a built-in encoder or of a model that this process fetched; None for other folders."""
    for name, folder in BUILTIN_FOLDERS.items():
        if model == name or Path(model) == folder:
            return name
    for (name, revision), folder in _FOLDERS.items():
        if folder == Path(model) or (name, revision) == (model, None):
            return name if revision is None else f"{name}@{revision}"
    return None


def model_name(model: str | os.PathLike[str]) -> str:
    """Return the name of a model for a card: its name on the Hub, or the name of its folder."""
    return repository_name(model) or to_path(model).resolve().name


def _is_supported(folder: Path, name: str) -> bool:
    settings, modules = folder / _SETTINGS, folder / _MODULES
    if not settings.is_file() and not modules.is_file():
        remedy = "see its list of files on the Hub; namespace/name/folder names a model in a folder of it"
        raise ModelError(f"the repository has no model: there is no {_SETTINGS}", path=name, remedy=remedy)
    model_type = read_optional_json(settings).get("model_type")
    is_static = modules.is_file() and b"StaticEmbedding" in read_bytes(modules, ModelError)
    return model_type in (*MODELS, "model2vec") or (model_type is None and is_static)


def _download(repo_id: str, inner: str, revision: str | None, patterns: tuple[str, ...], **options: Any) -> Path:
    import huggingface_hub
    from huggingface_hub.errors import RepositoryNotFoundError, RevisionNotFoundError

    prefix = f"{glob.escape(inner)}/" if inner else ""
    wanted, unwanted = ([prefix + pattern for pattern in group] for group in (patterns, NOT_FETCHED))
    try:
        folder = huggingface_hub.snapshot_download(
            repo_id, revision=revision, allow_patterns=wanted, ignore_patterns=unwanted, **options
        )
    except Exception as error:  # of several libraries
        kind = ModelError if isinstance(error, (RepositoryNotFoundError, RevisionNotFoundError)) else HubError
        problem = f"no such model folder, and the Hub's client cannot fetch it: {sanitize_line(str(error), 400)}"
        remedy = "give a folder, or check the name, your login (`hf auth login`), HF_HUB_OFFLINE and the network"
        raise kind(problem, path=repo_id, remedy=remedy) from None
    return Path(folder) / inner

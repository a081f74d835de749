"""Names of models: `builtin`, the encoder in the package, `namespace/name` on the Hub, and folders.

Of a repository only data is fetched: settings, weights in safetensors or as an ONNX graph, tokenizers and cards; no
code.
"""

from __future__ import annotations

import glob
import os
from pathlib import Path

from ..errors import HubError, ModelError
from ..messages import shown_line
from ..registry import BUILTIN as BUILTIN
from ..registry import WORDLLAMA as WORDLLAMA

FETCHED = ("*.json", "*.safetensors", "*.txt", "*.tsv", "README.md", "onnx/model.onnx")
"""What model folders hold except code; in a pattern of the Hub's client `*` also stands for `/`."""
NOT_FETCHED = ("*checkpoint*/*", "data/*")
BUILTIN_FOLDER = Path(__file__).parents[1] / "encoders" / BUILTIN
_FOLDERS: dict[tuple[str, str | None], Path] = {}
"""The folders that this process fetched, by name and revision."""


def model_folder(name: str | os.PathLike[str], *, revision: str | None = None) -> Path:
    """Returns the folder of a model, which is fetched from the Hub if necessary.

    Args:
        name: A folder; or, as text, `builtin`; or, as text and if no such file or folder exists, a repository
            `namespace/name`, or `namespace/name/folder` for a folder of one. A folder with the name `builtin` is
            written `./builtin`, or given as a path object. Any other name is returned as a path.
        revision: The branch, tag or commit of a repository; `main` by default.

    Raises:
        ModelError: If the name is empty, the Hub has no such model, or this installation has no built-in encoder.
        HubError: If the Hub cannot be reached, and there is no earlier copy of the model.
    """
    if name == "":
        raise ModelError("the name of the model is empty", remedy="name a model folder")
    if name == BUILTIN:
        if not BUILTIN_FOLDER.is_dir():
            remedy = "install the package from its wheel, or name a model folder"
            raise ModelError("this installation has no built-in encoder", path=name, remedy=remedy)
        return BUILTIN_FOLDER
    repository = _repository(name)
    if repository is None:
        return Path(name)
    key = (str(name), revision)
    if key not in _FOLDERS:
        folder = _download(*repository, revision)
        if not any((folder / file).is_file() for file in ("config.json", "modules.json")):
            remedy = "see its list of files on the Hub; namespace/name/folder names a model in a folder of it"
            raise ModelError("the repository has no model: there is no config.json", path=name, remedy=remedy)
        _FOLDERS[key] = folder
    return _FOLDERS[key]


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
    if len(parts) < 2 or any(part in {"", ".", "..", "~"} for part in parts):
        return None
    # A longer name that begins with an existing folder is a mistyped path.
    if len(parts) > 2 and Path(parts[0]).exists():
        return None
    return "/".join(parts[:2]), "/".join(parts[2:])


def _download(repo_id: str, inner: str, revision: str | None) -> Path:
    """Fetches the data of a folder of a repository, and returns the path of that folder."""
    import huggingface_hub
    from huggingface_hub.errors import RepositoryNotFoundError, RevisionNotFoundError

    prefix = f"{glob.escape(inner)}/" if inner else ""
    wanted, unwanted = ([prefix + pattern for pattern in group] for group in (FETCHED, NOT_FETCHED))
    try:
        folder = huggingface_hub.snapshot_download(
            repo_id, revision=revision, allow_patterns=wanted, ignore_patterns=unwanted
        )
    except Exception as error:  # of several libraries
        kind = ModelError if isinstance(error, (RepositoryNotFoundError, RevisionNotFoundError)) else HubError
        raise kind(
            f"no such model folder, and the Hub's client cannot fetch it: {shown_line(str(error), 400)}",
            path=repo_id,
            remedy="give a folder, or check the name, your login (`hf auth login`), HF_HUB_OFFLINE and the network",
        ) from None
    return Path(folder) / inner

"""Model folders that lie on the Hub: `namespace/name` is fetched where no such folder is here.

What is fetched is data: settings, weights in safetensors or as an ONNX graph, tokenizers, and the records beside them.
The classes are those of this package, so no code of a repository is fetched or run.
"""

from __future__ import annotations

import os
from pathlib import Path

from ..errors import HfParaphraseError, HubError, ModelError

FETCHED = ("*.json", "*.safetensors", "onnx/*.onnx", "README.md", "references.tsv")
"""Patterns of the files that are fetched; weights as pickles and code are not among them."""
_FOLDERS: dict[tuple[str, str | None], Path] = {}
"""What was fetched by this process: a verb that opens a model twice must get the same one."""


def model_folder(name: str | os.PathLike[str], *, revision: str | None = None) -> Path:
    """Gives the folder of a model, which is fetched from the Hub if it must be.

    Args:
        name: A folder; or, as text and where there is no such file or folder, a repository `namespace/name`, or
            `namespace/name/folder` for a model in a folder of one.
        revision: The branch, tag or commit of a repository; `main` by default.

    Returns:
        The folder. A name that is neither a folder nor can be a repository's comes back as it is.

    Raises:
        ModelError: If the Hub has no such repository, branch or folder in it, or does not let this user see it.
        HubError: If the Hub cannot be reached, and no copy of the model is here from an earlier time.
    """
    repository = _repository(name)
    if repository is None:
        return Path(name)
    key = (str(name), revision)
    if key not in _FOLDERS or not _FOLDERS[key].is_dir():
        _FOLDERS[key] = _fetch(*repository, revision)
    return _FOLDERS[key]


def fetched_folder(name: str | os.PathLike[str]) -> Path | None:
    """Gives the folder that this process has fetched by a name; None for anything else. Nothing is fetched."""
    if not isinstance(name, str) or os.path.lexists(name):
        return None
    return next((folder for (known, _), folder in _FOLDERS.items() if known == name), None)


def repository_name(place: str | os.PathLike[str]) -> str | None:
    """Gives the name by which this process has fetched a model, from that name or from its folder; else None."""
    return next((name for (name, _), folder in _FOLDERS.items() if place in (name, folder)), None)


def _repository(name: str | os.PathLike[str]) -> tuple[str, str] | None:
    """Reads a name as a repository and a folder in it (empty for the whole); None where it can be none."""
    if not isinstance(name, str) or os.path.lexists(name):
        return None
    parts = name.split("/")
    if len(parts) < 2 or any(part in {"", ".", ".."} for part in parts):
        return None
    # A longer name that begins with a folder of this place is a path with a mistake in it.
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


def _fetch(repo_id: str, inner: str, revision: str | None) -> Path:
    import huggingface_hub

    patterns = [f"{inner}/{pattern}" if inner else pattern for pattern in FETCHED]
    problem: HfParaphraseError
    try:
        folder = Path(huggingface_hub.snapshot_download(repo_id, revision=revision, allow_patterns=patterns))
    # The client raises errors of several libraries; their texts are long and may hold addresses with keys.
    except Exception as error:
        problem = _explain(error, repo_id, revision)
    else:
        if (folder / inner).is_dir():
            return folder / inner
        what = f"no folder {inner}" if inner else "no model"
        problem = ModelError(f"the repository has {what}", path=repo_id, remedy="see its list of files on the Hub")
    raise problem from None


def _explain(error: Exception, repo_id: str, revision: str | None) -> HfParaphraseError:
    from huggingface_hub import constants
    from huggingface_hub.errors import (
        GatedRepoError,
        HfHubHTTPError,
        LocalEntryNotFoundError,
        OfflineModeIsEnabled,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    place = f"{constants.ENDPOINT}/{repo_id}"
    nothing = "no such model folder"
    if isinstance(error, GatedRepoError):
        return ModelError(
            f"{nothing}, and the model on the Hub asks its users for their consent",
            path=repo_id,
            remedy=f"give it at {place}, then log in with `hf auth login`",
        )
    if isinstance(error, RepositoryNotFoundError):
        return ModelError(
            f"{nothing}, and no such model on the Hub that you may see",
            path=repo_id,
            remedy="give a folder, or namespace/name of a model there; for a private one log in with `hf auth login`",
        )
    if isinstance(error, RevisionNotFoundError):
        return ModelError(f"the model on the Hub has no revision `{revision}`", path=repo_id, remedy=f"see {place}")
    if constants.HF_HUB_OFFLINE or isinstance(error, OfflineModeIsEnabled):
        return HubError(
            f"{nothing}, and the Hub's client is set to work offline and has no copy of such a model",
            path=repo_id,
            remedy="give a folder, or unset HF_HUB_OFFLINE",
        )
    if isinstance(error, HfHubHTTPError) and not isinstance(error, LocalEntryNotFoundError):
        status = getattr(getattr(error, "response", None), "status_code", "unknown")
        return HubError(f"{nothing}, and the Hub answered with status {status}", path=repo_id, remedy="try it later")
    return HubError(
        f"{nothing}, and the Hub cannot be asked for it: {type(error.__cause__ or error).__name__}",
        path=repo_id,
        remedy=f"give a folder, or see your network and {constants.ENDPOINT}",
    )

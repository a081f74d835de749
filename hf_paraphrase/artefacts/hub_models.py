"""Model folders by other names than their own: `builtin`, which is in the package, and `namespace/name` on the Hub.

A repository is fetched where no such folder is here. What is fetched is data: settings, weights in safetensors or as
an ONNX graph, tokenizers, and the records beside them. The classes are those of this package, so no code of a
repository is fetched or run. A repository that holds something else than a model of this package may be hundreds of
gigabytes large: of it the settings are fetched and nothing else.
"""

from __future__ import annotations

import glob
import os
from pathlib import Path

from ..errors import HfParaphraseError, HubError, ModelError
from ..models.registry import MODELS
from .untrusted_files import LONGEST_JSON_BYTES, check_plain_folder, read_bounded, read_json_object

_SETTINGS = "config.json"
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
    "modules.json",
    "sentence_bert_config.json",
    "config_sentence_transformers.json",
    "1_Pooling/config.json",
    "README.md",
    "provenance.json",
    "source_provenance.json",
    "references.tsv",
)
"""The files that are fetched, all that the model folders of this package hold but code."""
_OF_OTHERS = (
    *FETCHED,
    "vocab.txt",
    "0_StaticEmbedding/model.safetensors",
    "0_StaticEmbedding/tokenizer.json",
    *(f"{number}_Dense/{name}" for number in (2, 3) for name in (_SETTINGS, "model.safetensors")),
)
"""What is fetched of sentence encoders of other libraries."""
_MODULES = "modules.json"
BUILTIN = "builtin"
"""The name of the sentence encoder that is installed with the package."""
WORDLLAMA = "wordllama"
"""The name of the table that is installed with the package of that name."""
BUILTIN_FOLDER = Path(__file__).parents[1] / "encoders" / BUILTIN
"""Where it lies."""
_FOLDERS: dict[tuple[str, str | None], Path] = {}
"""What was fetched by this process: a verb that opens a model twice must get the same one."""
_SETTINGS_ALONE: set[tuple[str, str | None]] = set()
"""Those of which nothing but the settings was fetched."""


def model_folder(name: str | os.PathLike[str], *, revision: str | None = None, of_others: bool = False) -> Path:
    """Gives the folder of a model, which is fetched from the Hub if it must be.

    Args:
        name: A folder; or, as text and where there is no such file or folder, `builtin`, a repository
            `namespace/name`, or `namespace/name/folder` for a model in a folder of one.
        revision: The branch, tag or commit of a repository; `main` by default.
        of_others: Whether to fetch a model of a type that is not of this package, too: weights in safetensors,
            settings and tokenizer.

    Returns:
        The folder. A name that is neither a folder nor can be a repository's comes back as it is. Of a model of a
        type that is not of this package, and no table of another library, the folder otherwise has the settings alone,
        which are enough to refuse it by.

    Raises:
        ModelError: If the name is empty; if the Hub has no such repository, branch or model in it, or does not let
            this user see it, or if the model's `config.json` is damaged; if the built-in encoder was not installed; or
            if something in the folder leads out of it, or is a pipe or device.
        HubError: If the Hub cannot be reached, and no copy of the model is here from an earlier time.
    """
    if name == "":
        raise ModelError("the name of the model is empty", remedy="name a model folder")
    if _is_builtin(name):
        if not BUILTIN_FOLDER.is_dir():
            raise ModelError(
                "this installation has no built-in encoder",
                path=name,
                remedy="install the package from its wheel, or name a model folder",
            )
        return BUILTIN_FOLDER
    repository = _repository(name)
    if repository is None:
        folder = Path(name)
    else:
        key = (str(name), revision)
        if key not in _FOLDERS or not _FOLDERS[key].is_dir() or (of_others and key in _SETTINGS_ALONE):
            _FOLDERS[key], is_whole = _fetch(*repository, revision, of_others)
            (_SETTINGS_ALONE.discard if is_whole else _SETTINGS_ALONE.add)(key)
        folder = _FOLDERS[key]
    # Whatever kind of model it is, nothing in it has been opened yet. What is no model is not searched to its bottom.
    if os.path.lexists(folder / _SETTINGS) or os.path.lexists(folder / _MODULES):
        check_plain_folder(folder, ModelError)
    return folder


def fetched_folder(name: str | os.PathLike[str]) -> Path | None:
    """Gives the folder that this process has fetched by a name, or that of `builtin`; None for anything else.

    Nothing is fetched.
    """
    if not isinstance(name, str) or os.path.lexists(name):
        return None
    if _is_builtin(name):
        return BUILTIN_FOLDER
    return next((folder for (known, _), folder in _FOLDERS.items() if known == name), None)


def repository_name(place: str | os.PathLike[str]) -> str | None:
    """Gives the name by which this process has fetched a model, from that name or from its folder; else None.

    The built-in encoder has the name `builtin`.
    """
    if _is_builtin(place) or place == BUILTIN_FOLDER:
        return BUILTIN
    return next((name for (name, _), folder in _FOLDERS.items() if place in (name, folder)), None)


def _is_builtin(name: str | os.PathLike[str]) -> bool:
    return name == BUILTIN and not os.path.lexists(name)


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


def _fetch(repo_id: str, inner: str, revision: str | None, of_others: bool) -> tuple[Path, bool]:
    """Fetches a model; returns its folder, and whether it is whole or has the settings alone."""
    folder = _download(repo_id, inner, revision, (_SETTINGS, _MODULES))
    of_others = of_others or _is_table(folder)
    if not (folder / _SETTINGS).is_file() and not (of_others and (folder / _MODULES).is_file()):
        what = f"no folder {inner} with a model" if inner else "no model"
        raise ModelError(
            f"the repository has {what}: there is no {_SETTINGS}",
            path=repo_id,
            remedy="see its list of files on the Hub; namespace/name/folder names a model in a folder of it",
        )
    settings = read_json_object(folder / _SETTINGS, ModelError) if (folder / _SETTINGS).is_file() else {}
    is_ours = settings.get("model_type") in tuple(MODELS)
    if not is_ours and not of_others:
        return folder, False
    return _download(repo_id, inner, revision, FETCHED if is_ours else _OF_OTHERS), True


def _is_table(folder: Path) -> bool:
    """Tells whether settings are those of a table of another library, which is as good as one of ours."""
    settings = read_json_object(folder / _SETTINGS, ModelError) if (folder / _SETTINGS).is_file() else {}
    if (found := settings.get("model_type")) is not None:
        return bool(found == "model2vec")
    path = folder / _MODULES
    return path.is_file() and b"StaticEmbedding" in read_bounded(path, LONGEST_JSON_BYTES, ModelError)


def _download(repo_id: str, inner: str, revision: str | None, names: tuple[str, ...]) -> Path:
    """Fetches some files of a folder of a repository, and returns where the folder is then if there are any."""
    import huggingface_hub

    patterns = [f"{glob.escape(inner)}/{name}" if inner else name for name in names]
    problem: HfParaphraseError
    try:
        return Path(huggingface_hub.snapshot_download(repo_id, revision=revision, allow_patterns=patterns)) / inner
    # The client raises errors of several libraries; their texts are long and may hold addresses with keys.
    except Exception as error:
        problem = _explain(error, repo_id, revision)
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

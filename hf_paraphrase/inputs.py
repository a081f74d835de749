"""Inputs that are not files or folders: pipes, tables and models in memory, and datasets on the Hub.

Each is represented by a temporary folder. The folder of a pipe or a model contains a copy. The folder of rows in
memory or on the Hub only describes them; `hf_paraphrase.data.rows` reads the rows themselves.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from .errors import InputError, UsageError
from .messages import INPUT_COPIES, log, process_count, sanitize_line

OBJECTS: dict[str, Any] = {}
"""The rows in memory, or the dataset on the Hub, that a temporary folder represents."""
_PREFIX = "hf_paraphrase_"
_HASHED_ROWS = 10_000
_SECONDS_TO_LOCK = 60
_HUB = "hf://datasets/"
_DATASET = re.compile(r"(?P<repo>[^/@]+/[^/@]+)(?:@(?P<revision>(?:refs/[^/]+/)?[^/@]+))?(?:/(?P<subset>.+))?")


@contextmanager
def copied_inputs(settings: Any, names: Mapping[str, bool]) -> Iterator[None]:
    """Replace pipes, objects and datasets on the Hub in these fields by folders that exist while the block runs.

    A field is marked true if it may also name a dataset on the Hub.
    """
    with ExitStack() as stack:
        for name, may_be_dataset in names.items():
            setattr(settings, name, _replace(getattr(settings, name), name, may_be_dataset, stack))
        yield


def _replace(value: Any, field: str, may_be_dataset: bool, stack: ExitStack) -> Any:
    holds_rows = is_rows(value)
    if isinstance(value, list | tuple) and not holds_rows:
        is_text = all(isinstance(entry, str | os.PathLike) for entry in value)
        names = [field if is_text else f"{field}{index}" for index in range(len(value))]
        return [_replace(entry, name, may_be_dataset, stack) for entry, name in zip(value, names, strict=True)]
    if isinstance(value, str | os.PathLike):
        whole = os.fspath(value)
        for prefix, path in (("", whole), whole.partition("=")[::2]):
            copy = _copy_of_stream(path, stack) if is_stream(path) else None
            if may_be_dataset and isinstance(value, str) and (dataset := dataset_of(path)) is not None:
                copy = _stand_in_for_dataset(path, dataset, stack)
            if copy is not None:
                return f"{prefix}={copy}" if prefix else copy
        return value
    if holds_rows:
        folder = _stand_in(value, field, _describe_rows(value), stack)
        shown = "Dataset" if isinstance(value, list) else type(value).__name__
    elif hasattr(value, "save_pretrained"):
        folder, shown = str(stack.enter_context(temporary_folder()) / field), type(value).__name__
        _save_model(value, Path(folder))
    else:
        return value
    INPUT_COPIES[folder] = f"{shown} ({field})"
    return folder


def is_rows(value: Any) -> bool:
    """Return whether a value contains rows: a table of any library, dictionaries, or a mapping from splits to them."""
    if isinstance(value, list):
        return bool(value) and isinstance(value[0], Mapping) and not hasattr(value[0], "num_rows")
    if isinstance(value, Mapping):
        return bool(value) and all(is_rows(part) for part in value.values())
    if hasattr(type(value), "to_frame"):  # one column, of pandas or polars
        return False
    return any(hasattr(value, name) for name in ("to_parquet", "with_format", "__arrow_c_stream__", "sink_parquet"))


def _stand_in(value: Any, name: str, about: Mapping[str, Any], stack: ExitStack) -> str:
    """Make a folder with a description of rows, whose hash the record of an artefact includes."""
    folder = stack.enter_context(temporary_folder()) / name
    folder.mkdir()
    (folder / "rows.json").write_text(json.dumps(about), encoding="utf-8")
    OBJECTS[str(folder)] = value
    stack.callback(OBJECTS.pop, str(folder), None)
    return str(folder)


def _describe_rows(value: Any) -> dict[str, Any]:
    """Describe rows: their type, and the hash of rows in memory or in files."""
    if isinstance(value, Mapping):
        return {str(split): _describe_rows(rows) for split, rows in value.items()}
    about: dict[str, Any] = {"type": type(value).__name__}
    if isinstance(value, list):
        return about | {"sha256": sha256(json.dumps(value, default=str).encode()).hexdigest()}
    if not hasattr(value, "__len__"):
        return about | {"features": str(getattr(value, "features", None))}
    digest = sha256()
    for start in range(0, len(value), _HASHED_ROWS):
        digest.update(repr(_plain_rows(value, start, start + _HASHED_ROWS)).encode())
    return about | {"rows": len(value), "sha256": digest.hexdigest()}


def _plain_rows(value: Any, start: int, stop: int) -> Any:
    """Convert rows to lists and dictionaries, whose JSON is the same for all libraries."""
    if hasattr(value, "with_format"):
        return value.with_format("arrow")[start:stop].to_pylist()
    if hasattr(value, "iloc"):
        return value.iloc[start:stop].to_dict("records")
    part = value.slice(start, stop - start)
    return part.to_pylist() if hasattr(part, "to_pylist") else part.to_dicts()


def _stand_in_for_dataset(name: str, dataset: HubDataset, stack: ExitStack) -> str:
    """Make the folder that represents a dataset on the Hub, with the metadata that cards inherit."""
    import huggingface_hub

    if made := [folder for folder, given in INPUT_COPIES.items() if given == name and folder in OBJECTS]:
        return made[0]
    card: dict[str, Any] = {}
    with suppress(Exception):  # no network, or no card; reading the rows raises an error that names the problem
        snapshot = dataset.snapshot()
        # The rows that are read are those of the recorded commit.
        dataset = dataset._replace(revision=snapshot.name)
        card = huggingface_hub.DatasetCard.load(snapshot / "README.md", ignore_metadata_errors=True).data.to_dict()
    about = {"dataset": dataset.repo_id, "subset": dataset.subset, "revision": dataset.revision}
    parts = filter(None, (dataset.repo_id, dataset.subset))
    folder = _stand_in(dataset, "--".join(parts).replace("/", "--"), about, stack)
    data = {key: card[key] for key in ("license", "language") if card.get(key)}
    huggingface_hub.metadata_save(Path(folder) / "README.md", data | {"source_datasets": [dataset.repo_id]})
    INPUT_COPIES[folder] = name
    return folder


def _save_model(value: Any, folder: Path) -> None:
    if (opened := getattr(value, "unchanged_folder", None)) is not None:
        shutil.copytree(opened, folder, ignore=shutil.ignore_patterns(".*", "checkpoint-*"))
    else:
        value.save_pretrained(folder)


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Make a folder that is removed after the block, or by the next process if this one is killed."""
    from filelock import FileLock, Timeout

    for left in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*/.lock"):
        with suppress(OSError, Timeout):
            is_new = time.time() - left.stat().st_mtime < _SECONDS_TO_LOCK
            with FileLock(left, timeout=0):
                if not is_new:
                    shutil.rmtree(left.parent, ignore_errors=True)
    # Any thread may remove it, such as the one that collects garbage.
    with (
        tempfile.TemporaryDirectory(prefix=_PREFIX, ignore_cleanup_errors=True) as name,
        FileLock(Path(name) / ".lock", thread_local=False),
    ):
        yield Path(name)


class HubDataset(NamedTuple):
    """A dataset on the Hub: its repository, configuration, and branch, tag or commit; None for the default ones."""

    repo_id: str
    subset: str | None = None
    revision: str | None = None

    def snapshot(self) -> Path:
        """Return the folder of the commit in the cache of the Hub's client; only the card is downloaded.

        Raises:
            InputError: The dataset or the revision does not exist, or the Hub cannot be reached and the cache does
                not have the dataset.
        """
        import huggingface_hub
        from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError, RevisionNotFoundError

        options: Any = {"repo_type": "dataset", "revision": self.revision, "tqdm_class": _bar_that_shows_nothing()}
        remedy = "check the name, your login (`hf auth login`), HF_HUB_OFFLINE and the network"
        try:
            # The client warns where no file has one of the names; all repositories have the second.
            names = ["README.md", ".gitattributes"]
            return Path(huggingface_hub.snapshot_download(self.repo_id, allow_patterns=names, **options))
        except RevisionNotFoundError:
            problem = f"the dataset has no revision `{self.revision}`"
            with suppress(Exception):
                refs = huggingface_hub.HfApi().list_repo_refs(self.repo_id, repo_type="dataset")
                remedy = f"its branches and tags are {', '.join(ref.name for ref in [*refs.branches, *refs.tags])}"
        except GatedRepoError:
            problem = "access to this dataset is restricted"
            remedy = "ask for access on its page on the Hub, and log in with `hf auth login`"
        except RepositoryNotFoundError:
            problem = "no such file or data folder, and the Hub has no such dataset, or does not show it to you"
        except Exception as error:  # of several libraries
            reason = sanitize_line(str(error.__cause__ or error), 200)
            problem = f"no such file or data folder, and no dataset in the cache; the Hub cannot be reached: {reason}"
            raise InputError(problem, path=self.repo_id, remedy=remedy) from error
        raise InputError(problem, path=self.repo_id, remedy=remedy)


def _bar_that_shows_nothing() -> type[Any]:
    from tqdm import tqdm

    class Hidden(tqdm):
        def __init__(self, *words: Any, **options: Any) -> None:
            super().__init__(*words, **{**options, "disable": True})

    return Hidden


def dataset_of(name: str | os.PathLike[str]) -> HubDataset | None:
    """Parse the dataset `owner/name`, `owner/name@revision` or `owner/name/subset`; None for existing or other paths.

    The URL `hf://datasets/owner/name` is accepted too, but not the URL of a file or folder in a repository.
    """
    if not isinstance(name, str) or (match := _DATASET.fullmatch(name.removeprefix(_HUB))) is None:
        return None
    is_url = name.startswith(_HUB)
    if (is_url and match["subset"]) or os.path.lexists(name):
        return None
    repository = repository_of("/".join(filter(None, (match["repo"], match["subset"]))))
    if repository is None and not is_url:
        return None
    return HubDataset(match["repo"], match["subset"], match["revision"])


def repository_of(name: str | os.PathLike[str]) -> tuple[str, str] | None:
    """Split `owner/name` or `owner/name/inner` into the repository and the rest; None for an existing path."""
    if not isinstance(name, str) or os.path.lexists(name):
        return None
    parts = name.split("/")
    # A longer name that begins with an existing folder is a mistyped path.
    if len(parts) < 2 or {"", ".", ".."} & {*parts} or (len(parts) > 2 and Path(parts[0]).exists()):
        return None
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils import validate_repo_id

    repo_id = "/".join(parts[:2])
    try:
        validate_repo_id(repo_id)
    except HFValidationError:
        return None
    return repo_id, "/".join(parts[2:])


def is_stream(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is a pipe, a socket, a device or standard input, which can be read only once."""
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116
    except (OSError, ValueError):
        return False
    is_file = stat.S_ISREG(mode) and not os.fspath(path).startswith(("/dev/stdin", "/dev/fd/"))
    return not is_file and not stat.S_ISDIR(mode) and os.fspath(path) != os.devnull


def _copy_of_stream(path: str, stack: ExitStack) -> str:
    if copies := [copy for copy, name in INPUT_COPIES.items() if name == path and Path(copy).exists()]:
        return copies[0]
    if process_count() > 1:
        raise UsageError("each process would read a part of the pipe", path=path, remedy="write it to a file first")
    copy = str(stack.enter_context(temporary_folder()) / path.rpartition("/")[2])
    INPUT_COPIES[copy] = path
    log(f"{path} is copied to a temporary file first")
    # A socket cannot be opened by its name.
    with open(copy, "wb") as target, open(os.dup(0) if path == "/dev/stdin" else path, "rb") as source:  # noqa: PTH123
        if stat.S_ISCHR(os.fstat(source.fileno()).st_mode) and not source.isatty():
            raise InputError("this is a device without an end", path=path, remedy="give a file or a pipe")
        shutil.copyfileobj(source, target, 1 << 20)
    return copy

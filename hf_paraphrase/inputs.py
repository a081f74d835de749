"""Inputs that become files or folders first: pipes, objects in place of folders, and datasets on the Hub."""

from __future__ import annotations

import json
import os
import shutil
import stat
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from .errors import HfParaphraseError, InputError, UsageError
from .messages import INPUT_COPIES, log, process_count, shown_line


@contextmanager
def copied_inputs(settings: Any, names: Mapping[str, bool]) -> Iterator[None]:
    """Replaces pipes and objects in these fields, also in a list, by copies that exist while the block runs.

    A field is marked true if it may also name a dataset on the Hub, which is replaced by its folder in the cache.
    """
    with ExitStack() as stack:
        for name, may_be_dataset in names.items():
            setattr(settings, name, _copied(getattr(settings, name), name, may_be_dataset, stack))
        yield


def _copied(value: Any, field: str, may_be_dataset: bool, stack: ExitStack) -> Any:
    first = value[0] if isinstance(value, list) and value else None
    is_rows = isinstance(first, Mapping) and not hasattr(first, "num_rows")
    if isinstance(value, list | tuple) and not is_rows:
        is_text = all(isinstance(item, str | os.PathLike) for item in value)
        names = [field if is_text else f"{field}{index}" for index in range(len(value))]
        return [_copied(item, name, may_be_dataset, stack) for item, name in zip(value, names, strict=True)]
    if isinstance(value, str | os.PathLike):
        whole = os.fspath(value)
        for prefix, path in (("", whole), whole.partition("=")[::2]):
            copy = _copy_of_stream(path, stack) if is_stream(path) else None
            if may_be_dataset and isinstance(value, str) and repository_of(path) is not None:
                copy = os.fspath(dataset_folder(path))
            if copy is not None:
                return f"{prefix}={copy}" if prefix else copy
        return value
    is_splits = isinstance(value, Mapping) and all(hasattr(item, "to_parquet") for item in value.values())
    if not (is_rows or is_splits or hasattr(value, "to_parquet") or hasattr(value, "save_pretrained")):
        return value
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hf_paraphrase_"))) / field
    _write_object(value, folder)
    INPUT_COPIES[str(folder)] = f"{'Dataset' if is_rows else type(value).__name__} ({field})"
    return str(folder)


def _write_object(value: Any, folder: Path) -> None:
    if (opened := getattr(value, "unchanged_folder", None)) is not None:
        shutil.copytree(opened, folder, ignore=shutil.ignore_patterns(".*", "checkpoint-*"))
        return
    if hasattr(value, "save_pretrained"):
        value.save_pretrained(folder)
        return
    if isinstance(value, list):
        from datasets import Dataset

        value = Dataset.from_list([dict(row) for row in value])
    (folder / "data").mkdir(parents=True)
    for split, rows in (value if isinstance(value, Mapping) else {"train": value}).items():
        rows.to_parquet(str(folder / "data" / f"{split}-00000-of-00001.parquet"))


def repository_of(name: str | os.PathLike[str]) -> tuple[str, str] | None:
    """Splits `owner/name` or `owner/name/inner` into the name of a repository and the rest; None for what exists."""
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


def dataset_folder(name: str | os.PathLike[str]) -> Path:
    """Returns a data folder, in the cache of `datasets`, with the rows of anything that `load_dataset` opens.

    Args:
        name: A folder or file of JSON lines or CSV, or a dataset on the Hub: `owner/name` or `owner/name/subset`.
    """
    from datasets import config

    repository = repository_of(name)
    with opening_rows(name):
        builder = dataset_builder(*(repository or (os.fspath(name),)))
        builder.download_and_prepare()
        key = sha256(builder.cache_dir.encode()).hexdigest()[:16]
        shown = "--".join(filter(None, repository)) if repository else Path(name).stem
        folder = Path(config.HF_DATASETS_CACHE) / "hf_paraphrase" / key / shown.replace("/", "--")
        if not folder.is_dir():
            folder.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=folder.parent) as staging:
                _write_object(builder.as_dataset(), Path(staging) / "made")
                if repository is not None:
                    _write_card(repository[0], Path(staging) / "made")
                try:
                    (Path(staging) / "made").rename(folder)
                except OSError:
                    if not folder.is_dir():  # another process was first
                        raise
    if repository is not None:
        INPUT_COPIES[str(folder)] = str(name)
    return folder


@contextmanager
def opening_rows(name: str | os.PathLike[str]) -> Iterator[None]:
    """Turns any error of `datasets` into an `InputError` that names what was opened."""
    try:
        yield
    except HfParaphraseError:
        raise
    except Exception as error:  # of several libraries
        reason = shown_line(str(error.__cause__ or error) or "it is empty", 300)
        if "BatchSize" in reason or "corresponds to no data" in reason:
            reason = "there are no rows"  # in a Parquet file, or below the header of CSV
        problem, remedy = f"load_dataset cannot open it: {reason}", "check the rows, --split and --subset"
        if not Path(name).exists():
            problem = f"no such file or data folder, and {problem}"
            remedy = "check the name, --split, --subset, your login (`hf auth login`), HF_HUB_OFFLINE and the network"
        raise InputError(problem, path=name, remedy=remedy) from error


def dataset_builder(name: str, subset: str | None = None) -> Any:
    """Opens a folder, a file or a dataset on the Hub with `datasets`, whose errors are its own."""
    import datasets
    import fsspec

    options: dict[str, Any] = {"name": subset or None}
    path = Path(name).resolve()
    if path.is_file():
        name, options = str(path.parent), {"data_files": path.name}
    elif path.is_dir():
        name = str(path)
    if path.exists():
        # Of a folder with a card `datasets` would give the rows of what its files held before.
        options["cache_dir"] = str(Path(datasets.config.HF_DATASETS_CACHE) / "hf_paraphrase" / input_state([path]))
    builder = datasets.load_dataset_builder(name, **options)
    if hasattr(builder.config, "keep_default_na"):
        if path.exists() and builder.config.sep == ",":
            # That in the header of the first file, which may be compressed.
            first = next(iter(builder.config.data_files.values()))[0]
            with fsspec.open(first, "rt", compression="infer", encoding="utf-8", errors="replace") as stream:
                options["sep"] = delimiter_of(stream.readline())
        # The words "None" and "NA" are text.
        builder = datasets.load_dataset_builder(name, **options, keep_default_na=False, na_values=[""])
    return builder


def delimiter_of(header: str) -> str:
    """Returns the delimiter that the header of a CSV file has most often: a comma, semicolon or tab."""
    return max(",;\t", key=header.count)


def input_state(paths: Iterable[str | os.PathLike[str]]) -> str:
    """Makes a key for a cache that changes when files, or files below folders, change."""
    states: list[tuple[str, int, int]] = []
    for path in map(Path, paths):
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            found = file.stat() if file.exists() else None
            states.append((str(file), found.st_size if found else -1, found.st_mtime_ns if found else -1))
    return sha256(json.dumps(states).encode()).hexdigest()[:16]


def _write_card(repo_id: str, folder: Path) -> None:
    """Writes what cards of models and data inherit from a dataset on the Hub."""
    import huggingface_hub

    known: dict[str, Any] = {}
    with suppress(Exception):  # it may have no card, or the network may be gone
        known = huggingface_hub.DatasetCard.load(repo_id, ignore_metadata_errors=True).data.to_dict()
    data = {key: known[key] for key in ("license", "language") if known.get(key)} | {"source_datasets": [repo_id]}
    huggingface_hub.metadata_save(folder / "README.md", data)


def is_stream(path: str | os.PathLike[str]) -> bool:
    """Returns whether a path is a pipe, a socket, a device or standard input, which can be read only once."""
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116
    except (OSError, ValueError):
        return False
    is_file = stat.S_ISREG(mode) and not os.fspath(path).startswith(("/dev/stdin", "/dev/fd/"))
    return not is_file and not stat.S_ISDIR(mode) and os.fspath(path) != os.devnull


def _copy_of_stream(path: str, stack: ExitStack) -> str:
    if known := [copy for copy, name in INPUT_COPIES.items() if name == path and Path(copy).exists()]:
        return known[0]
    if process_count() > 1:
        raise UsageError("each process would read a part of the pipe", path=path, remedy="write it to a file first")
    folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="hf_paraphrase_"))
    copy = str(Path(folder) / path.rpartition("/")[2])
    INPUT_COPIES[copy] = path
    log(f"{path} is copied to a temporary file first")
    # A socket cannot be opened by its name.
    with open(copy, "wb") as target, open(os.dup(0) if path == "/dev/stdin" else path, "rb") as source:  # noqa: PTH123
        if stat.S_ISCHR(os.fstat(source.fileno()).st_mode) and not source.isatty():
            raise InputError("this is a device without an end", path=path, remedy="give a file or a pipe")
        shutil.copyfileobj(source, target, 1 << 20)
    return copy

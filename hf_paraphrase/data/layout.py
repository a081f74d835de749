"""Find the files of each split of a data set, by the rules of `datasets`, without reading a row.

`datasets` itself resolves file names, patterns and the `configs` of a card. Only folders in exactly the form that
:func:`~.folder.write_split` gives them are listed here, because importing `datasets` takes more than a second.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..artefacts.card_metadata import split_card
from ..artefacts.fsspec_path import FsspecPath, to_path
from ..errors import HfParaphraseError, InputError, UsageError
from ..inputs import OBJECTS, repository_of
from ..messages import sanitize_line
from .text_blocks import kind_of_rows

SHARD = re.compile(r"(?P<split>\w+(\.\w+)*)-(?P<index>\d{5})-of-(?P<count>\d{5})(-[0-9a-f]+)?\.parquet")
ORDER = {"train": 0, "validation": 1, "test": 2}
"""The order of the splits of a folder; others follow by name."""
RECORDS = ("provenance.json", "source_provenance.json", "skipped_lines.tsv")
"""Files of an artefact that are not data."""
_READ_HERE = {"parquet": "parquet", "csv": "csv", "json": "jsonl", "text": "text"}
_OPTIONS_READ_HERE = {"csv": ("sep", "delimiter", "encoding", "keep_default_na", "na_values"), "text": ("encoding",)}
_HEAD = re.compile(r"\s*---\n(.*?)\n---", re.DOTALL)
_SAVED_TO_DISK = ("state.json", "dataset_dict.json")


@dataclass
class Layout:
    """The splits of a data set and where their rows are.

    Attributes:
        files: For each split its files; a split `NAME.SPLIT` belongs to the configuration NAME of a card.
        kind: The format of the files: `parquet`, `csv`, `jsonl` or `text`.
        options: What the card says about the format: `delimiter` and `encoding`.
        objects: For each split the `Dataset` or another object that has its rows, where there are no files to read.
        class_names: The names of the classes of columns, as the card states them.
    """

    files: dict[str, list[Any]] = field(default_factory=dict)
    kind: str = "parquet"
    options: dict[str, str] = field(default_factory=dict)
    objects: dict[str, Any] = field(default_factory=dict)
    class_names: dict[str, list[str]] = field(default_factory=dict)

    @property
    def splits(self) -> list[str]:
        """The names of the splits: train, validation, test, then others by name."""
        return sorted(self.files or self.objects, key=lambda name: (ORDER.get(name, 3), name))


def find_layout(source: str | os.PathLike[str], subset: str | None = None) -> Layout:
    """Find the splits of a folder, a file, a URL, or a dataset on the Hub (`owner/name` or `owner/name/subset`).

    Args:
        source: What `--pairs` and similar flags name.
        subset: The configuration of a card; the default one for None.

    Raises:
        InputError: If `load_dataset` would not open it either.
    """
    rows = OBJECTS.get(os.fspath(source), source)
    if not isinstance(rows, str | os.PathLike):
        return Layout(objects=splits_of_object(rows))
    source = rows
    path = to_path(source)
    if isinstance(path, FsspecPath):
        return _remote_layout(path)
    if path.is_file():
        kind = kind_of_rows(path) or "text"
        return Layout({"train": [path]}, kind) if kind != "arrow" else _arrow_layout(path)
    if path.is_dir():
        return _folder_layout(path, subset)
    repository = repository_of(source)
    if repository is None:
        remedy = "check the name, or make one, e.g. with hf-paraphrase prepare pairs --tsv FILE"
        raise InputError("no such file or data folder", path=source, remedy=remedy)
    with name_load_errors(source):
        return _repository_layout(repository[0], subset or repository[1] or None)


def _repository_layout(name: str, subset: str | None) -> Layout:
    """Find the splits of a dataset on the Hub; without a network, in the files of the cache."""
    try:
        return _resolved_layout(name, subset)
    except Exception:
        import huggingface_hub

        with suppress(Exception):  # nothing was fetched
            folder = huggingface_hub.snapshot_download(name, repo_type="dataset", local_files_only=True)
            return _resolved_layout(folder, subset)
        raise


def _arrow_layout(path: Path) -> Layout:
    import datasets

    with name_load_errors(path):
        rows = datasets.load_dataset("arrow", data_files=str(path), streaming=True)
    return Layout(objects=dict(rows))


def files_layout(files: Sequence[str | os.PathLike[str]]) -> Layout:
    """Make one split `train` of several files of one format."""
    paths = [to_path(file) for file in files]
    for path in paths:
        if not path.is_file():
            raise InputError("no such file", path=path, remedy="check the path; several inputs must be files")
    kind, *others = dict.fromkeys(kind_of_rows(Path(path.name)) or "text" for path in paths)
    if others:
        raise UsageError("the files are of several kinds", path=paths[-1], remedy="give files of one kind")
    return Layout({"train": paths}, kind)


def _folder_layout(path: Path, subset: str | None) -> Layout:
    if any((path / name).is_file() for name in _SAVED_TO_DISK):
        import datasets

        with name_load_errors(path):
            return Layout(objects=splits_of_object(datasets.load_from_disk(str(path))))
    if subset is None and (own := _own_shards(path)):
        return own
    with name_load_errors(path):
        try:
            layout = _resolved_layout(str(path.resolve()), subset)
        except FileNotFoundError as error:
            layout = Layout()
            is_empty = type(error).__module__.startswith("datasets") and not _states_files(path)
            if not is_empty:
                raise
    files = {
        split: [file for file in files if Path(str(file)).name not in RECORDS] for split, files in layout.files.items()
    }
    if not any(files.values()) and not layout.objects:
        problem = "not a data folder: it has no Parquet, CSV or JSON lines files"
        remedy = "make one with hf-paraphrase prepare, of other files with prepare pairs --dataset FOLDER"
        raise InputError(problem, path=path, remedy=remedy)
    layout.files = {split: listed for split, listed in files.items() if listed}
    return layout


def _own_shards(path: Path) -> Layout | None:
    """List the shards of a folder that `write_split` made, if nothing in it needs the rules of `datasets`."""
    if (path / ".huggingface.yaml").exists() or not (path / "data").is_dir():
        return None
    files: dict[str, list[Path]] = {}
    for file in sorted((path / "data").iterdir()):
        if file.name.startswith("."):
            continue
        if not (match := SHARD.fullmatch(file.name)):
            return None
        files.setdefault(match["split"], []).append(file)
    configs: list[Any] = []
    class_names: dict[str, list[str]] = {}
    if (path / "README.md").is_file():
        # The client of the Hub, which `split_card` needs, takes longer to import.
        import yaml

        try:
            match = _HEAD.match((path / "README.md").read_text("utf-8-sig"))
            head = (match and yaml.safe_load(match[1])) or {}
            class_names = _class_names_of_card(head)
            configs = list(head.get("configs") or ())
        except (ValueError, OSError, AttributeError, TypeError, KeyError, yaml.YAMLError):
            return None  # a malformed card, about which `datasets` says what is wrong
    for config in configs:
        listed = config.get("data_files") if isinstance(config, dict) else None
        if not isinstance(listed, list) or {*config} - {"default", "description"} != {"config_name", "data_files"}:
            return None
        for entry in listed:
            split = entry.get("split") if isinstance(entry, dict) else None
            names = {f"data/{name}-*": name for name in (split, f"{config['config_name']}.{split}")}
            if split is None or names.get(entry.get("path")) not in files:
                return None
    return Layout(files, class_names=class_names) if files else None


def _states_files(path: Path) -> bool:
    """Return whether the card of a folder names data files."""
    card = path / "README.md"
    match = _HEAD.match(card.read_text("utf-8-sig", "replace")) if card.is_file() else None
    return match is not None and "data_files" in match[1]


def _class_names_of_card(head: Mapping[str, Any]) -> dict[str, list[str]]:
    """Read the names of classes from `dataset_info`, as `prepare` writes them."""
    infos = head.get("dataset_info") or []
    names: dict[str, list[str]] = {}
    for info in infos if isinstance(infos, list) else [infos]:
        for column in info.get("features") or ():
            kind = column.get("dtype")
            if isinstance(kind, dict) and "class_label" in kind:
                names[column["name"]] = list(kind["class_label"].get("names", {}).values())
    return names


def _resolved_layout(name: str, subset: str | None) -> Layout:
    """Let `datasets` find the files of a folder or of a dataset on the Hub."""
    import datasets

    builder = datasets.load_dataset_builder(name, subset)
    config, kind = builder.config, _READ_HERE.get(builder.name, "")
    class_names = {
        column: list(feature.names)
        for column, feature in (builder.info.features or {}).items()
        if isinstance(feature, datasets.ClassLabel)
    }
    usual = type(config)()
    own = ("name", "version", "data_dir", "data_files", "description", *_OPTIONS_READ_HERE.get(builder.name, ()))
    plain = all(value == getattr(usual, key, value) for key, value in vars(config).items() if key not in own)
    files = {str(split): list(listed) for split, listed in (config.data_files or {}).items()}
    packed = any(".zip" in str(file) for listed in files.values() for file in listed)
    if kind and plain and files and not packed:
        options = {"encoding": getattr(config, "encoding", None) or "utf-8"}
        if builder.name == "csv" and config.sep != ",":
            options["delimiter"] = config.sep
        opened = {split: [_opened(file) for file in listed] for split, listed in files.items()}
        return Layout(opened, kind, options, class_names=class_names)
    if files:
        streams = builder.as_streaming_dataset()
    else:  # prepared in the cache, of a dataset on the Hub that cannot be reached
        builder.download_and_prepare()
        streams = builder.as_dataset()
    return Layout(objects={str(split): rows for split, rows in streams.items()}, class_names=class_names)


def _opened(file: str) -> Any:
    """Return a local path, or a file of the Hub that is fetched into its cache when it is read."""
    return HubFile(file) if str(file).startswith("hf://datasets/") else to_path(str(file))


class HubFile(os.PathLike[str]):
    """A file of a dataset on the Hub, which the client of the Hub fetches, and keeps, when it is first read."""

    def __init__(self, url: str) -> None:
        self._url = url
        self.name = url.rpartition("/")[2]

    def __fspath__(self) -> str:
        import huggingface_hub

        with name_load_errors(self._url):
            match = re.fullmatch(r"hf://datasets/([^@]+)@([^/]+)/(.+)", self._url)
            if match is None:
                raise ValueError("not the URL of a file of a dataset on the Hub")
            repo_id, revision, file = match.groups()
            return str(huggingface_hub.hf_hub_download(repo_id, file, repo_type="dataset", revision=revision))

    def __str__(self) -> str:
        return self._url


def _through(caches: str, file: str) -> str:
    """Return the URL of a file through the caches of fsspec; `datasets` returns a path for `file://`."""
    return f"{caches}file://{file}" if caches and file.startswith("/") else f"{caches}{file}"


def _remote_layout(path: FsspecPath) -> Layout:
    """Find the splits of a folder or file at a URL."""
    from datasets.data_files import DataFilesDict, get_data_patterns, sanitize_patterns

    if path.is_file():
        return Layout({"train": [path]}, kind_of_rows(Path(path.name)) or "text")
    if not path.exists():
        raise InputError("no such file or data folder", path=path, remedy="check the URL")
    # `datasets` lists no files through the caches of fsspec (`simplecache::s3://bucket/folder`).
    url = os.fspath(path).rstrip("/")
    caches = "".join(re.findall(r"(?:simple|file|block)cache::", url))
    url = url.removeprefix(caches)
    with name_load_errors(path):
        patterns: Any = None
        if (card := path / "README.md").is_file():
            with card.open("rb") as stream:
                head, _ = split_card(stream.read().decode("utf-8-sig"))
            configs = head.get("configs") or []
            default = next((config for config in configs if config.get("default")), configs[0] if configs else {})
            patterns = sanitize_patterns(default["data_files"]) if "data_files" in default else None
        resolved = DataFilesDict.from_patterns(patterns or get_data_patterns(url), base_path=url)
        files = {
            str(split): [to_path(_through(caches, str(file))) for file in listed] for split, listed in resolved.items()
        }
    kinds = [kind_of_rows(Path(file.name)) for listed in files.values() for file in listed]
    kind = max(filter(None, kinds), key=kinds.count, default=None)
    if kind is None:
        raise InputError("not a data folder: it has no Parquet, CSV or JSON lines files", path=path, remedy="check it")
    kept = {
        split: [file for file in listed if kind_of_rows(Path(file.name)) == kind] for split, listed in files.items()
    }
    return Layout({split: listed for split, listed in kept.items() if listed}, kind)


def splits_of_object(rows: Any) -> dict[str, Any]:
    """Return the splits of an object: the keys of a mapping of names to rows, else `train`."""
    if isinstance(rows, Mapping) and not any(_is_column(part) for part in rows.values()):
        return {str(split): part for split, part in rows.items()}
    return {"train": rows}


def _is_column(part: Any) -> bool:
    """Return whether a value of a mapping is a column, not the rows of a split."""
    is_list = isinstance(part, list | tuple)
    return (is_list and not (part and isinstance(part[0], Mapping))) or not hasattr(part, "__iter__")


@contextmanager
def name_load_errors(name: str | os.PathLike[str] | FsspecPath) -> Iterator[None]:
    """Turn any error of `datasets` into an `InputError` that names the data set."""
    try:
        yield
    except HfParaphraseError:
        raise
    except Exception as error:  # of several libraries
        reason = sanitize_line(str(error.__cause__ or error) or "it is empty", 300)
        if "BatchSize" in reason or "corresponds to no data" in reason:
            reason = "there are no rows"  # in a Parquet file, or below the header of CSV
        problem, remedy = f"load_dataset cannot open it: {reason}", "check its files, its card, --split and --subset"
        if not isinstance(name, FsspecPath) and not os.path.lexists(name):
            problem = f"no such file or data folder, and {problem}"
            remedy = "check the name, --split, --subset, your login (`hf auth login`), HF_HUB_OFFLINE and the network"
        raise InputError(problem, path=name, remedy=remedy) from error

"""Finds the files of each split of a data set, by the rules of `datasets`, without reading a row.

`datasets` itself resolves file names, patterns and the `configs` of a card. Only folders in exactly the form that
:func:`~.folder.write_split` gives them are listed here, because importing `datasets` takes more than a second.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import quote

from .. import __version__
from ..artefacts.card_metadata import split_card
from ..artefacts.files import atomic_write_text
from ..artefacts.fsspec_path import FsspecPath, to_path
from ..errors import HfParaphraseError, InputError, UsageError
from ..inputs import OBJECTS, HubDataset, dataset_of, temporary_folder
from ..messages import sanitize_line
from .text_blocks import kind_of_rows, plain_suffix

SHARD = re.compile(r"(?P<split>\w+(\.\w+)*)-(?P<index>\d{5})-of-(?P<count>\d{5})(-[0-9a-f]+)?\.parquet")
_NAMED_SHARD = re.compile(r"-of-\d{5}")
"""In the metadata of a card: the card names some shards of a split."""
ORDER = {"train": 0, "validation": 1, "test": 2}
"""The order of the splits of a folder; others follow by name."""
RECORDS = ("provenance.json", "source_provenance.json", "skipped_lines.tsv")
"""Files of an artefact that are not data."""
_READ_HERE = {"parquet": "parquet", "csv": "csv", "json": "jsonl", "text": "text"}
_OPTIONS_READ_HERE = {"csv": ("sep", "delimiter", "encoding", "keep_default_na", "na_values"), "text": ("encoding",)}
_HEAD = re.compile(r"\s*---\n(.*?)\n---", re.DOTALL)
_PLAIN_CONFIG = {"config_name", "data_files", "default", "description"}
_HUB = "hf://datasets/"
_NO_FILES = "not a data folder: it has no Parquet, CSV or JSON lines files"


@dataclass
class Layout:
    """The splits of a data set and their files or objects.

    Attributes:
        files: For each split its files; a split `NAME.SPLIT` belongs to the configuration NAME of a card.
        kind: The format of the files: `parquet`, `csv`, `jsonl` or `text`.
        options: The `delimiter` and `encoding` that the card states.
        objects: For each split without files, the object with its rows, such as a `Dataset`.
        class_names: For each configuration, the default one first, the names of the classes of columns, as the card
            states them.
        is_given: Whether the user or the card names the files, which may be some of several shards.
    """

    files: dict[str, list[Any]] = field(default_factory=dict)
    kind: str = "parquet"
    options: dict[str, str] = field(default_factory=dict)
    objects: dict[str, Any] = field(default_factory=dict)
    class_names: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    is_given: bool = False

    @property
    def splits(self) -> list[str]:
        """The names of the splits: train, validation, test, then others by name."""
        return sorted(self.files or self.objects, key=lambda name: (ORDER.get(name, 3), name))

    def require_all_shards(self, split: str, path: str) -> None:
        """Check that no shard of a split is missing."""
        names = [os.path.basename(str(file)) for file in self.files.get(split, ())]  # noqa: PTH119
        shards = [match for name in names if (match := SHARD.fullmatch(name))]
        if shards and len(shards) == len(names) and len(shards) != (count := int(shards[-1]["count"])):
            raise InputError(f"split `{split}` has {len(shards)} of {count} shards", path=path, remedy="copy all")


def find_layout(source: Any, subset: str | None = None) -> Layout:
    """Find the splits of any source of :func:`~.rows.open_rows`; `subset` is the configuration of a card.

    Raises:
        InputError: `load_dataset` would not open the source either.
    """
    if isinstance(source, list | tuple) and source and all(isinstance(name, str | os.PathLike) for name in source):
        if len(source) > 1:
            return _files_layout(list(map(to_path, source)))
        source = source[0]
    if isinstance(source, str | os.PathLike):
        source = OBJECTS.get(os.fspath(source), source)
    if isinstance(source, HubDataset):
        return _hub_layout(source, subset)
    if not isinstance(source, str | os.PathLike):
        return _objects_layout(source)
    if (dataset := dataset_of(source)) is not None:
        return _hub_layout(dataset, subset)
    path = to_path(source)
    if isinstance(path, FsspecPath):
        return _remote_layout(path, subset)
    if path.is_file() and kind_of_rows(path) == "arrow":
        import datasets

        with name_load_errors(path):
            return _objects_layout(datasets.load_dataset("arrow", data_files=str(path), streaming=True))
    if path.is_file():
        return Layout({"train": [path]}, kind_of_rows(path) or "text", is_given=True)
    if path.is_dir():
        return _folder_layout(path, subset)
    remedy = "check the name, or make one, e.g. with hf-paraphrase prepare pairs --tsv FILE"
    raise InputError("no such file or data folder", path=source, remedy=remedy)


def _objects_layout(rows: Any) -> Layout:
    """Return the splits of an object: the keys of a mapping of names to rows, else `train`."""

    def is_column(part: Any) -> bool:
        is_list = isinstance(part, list | tuple)
        return (is_list and not (part and isinstance(part[0], Mapping))) or not hasattr(part, "__iter__")

    if isinstance(rows, Mapping) and not any(map(is_column, rows.values())):
        return Layout(objects={str(split): part for split, part in rows.items()})
    return Layout(objects={"train": rows})


def _files_layout(paths: list[Path]) -> Layout:
    """Make one split `train` of several files of one format."""
    for path in paths:
        if not path.is_file():
            raise InputError("no such file", path=path, remedy="check the path; several inputs must be files")
    kind, *others = dict.fromkeys(kind_of_rows(Path(path.name)) or "text" for path in paths)
    if others:
        raise UsageError("the files are of several kinds", path=paths[-1], remedy="give files of one kind")
    return Layout({"train": paths}, kind, is_given=True)


def _folder_layout(path: Path, subset: str | None) -> Layout:
    if any((path / name).is_file() for name in ("state.json", "dataset_dict.json")):
        import datasets

        with name_load_errors(path):
            return _objects_layout(datasets.load_from_disk(str(path)))
    if subset is None and (own := _own_shards(path)):
        return own
    with name_load_errors(path):
        try:
            layout = _resolved_layout(str(path.resolve()), subset)
        except FileNotFoundError as error:
            if not type(error).__module__.startswith("datasets") or "data_files" in _card_head(path):
                raise
            layout = Layout()
        except ValueError as error:
            if "Config name is missing" not in str(error):
                raise
            import datasets

            names = datasets.get_dataset_config_names(str(path.resolve()))
            layout = _join_layouts({name: _resolved_layout(str(path.resolve()), name) for name in names})
    files = {
        split: [file for file in files if Path(str(file)).name not in RECORDS] for split, files in layout.files.items()
    }
    layout.files = {split: listed for split, listed in files.items() if listed}
    layout.is_given = _NAMED_SHARD.search(_card_head(path)) is not None
    if not layout.splits:
        remedy = "make one with hf-paraphrase prepare, of other files with prepare pairs --dataset FOLDER"
        raise InputError(_NO_FILES, path=path, remedy=remedy)
    return layout


def _join_layouts(layouts: Mapping[str, Layout]) -> Layout:
    """Join configurations of which none is the default; their splits are called `CONFIGURATION.SPLIT`."""
    joined = Layout()
    joined.kind, joined.options = next((layout.kind, layout.options) for layout in layouts.values())
    for name, layout in layouts.items():
        prefix = re.sub(r"\W", "_", name)  # as in the name of a split
        is_alike = not layout.objects and (layout.kind, layout.options) == (joined.kind, joined.options)
        if not is_alike or prefix in joined.class_names:
            problem = f"no configuration is the default, and they differ in format; it has {[*layouts]}"
            raise InputError(problem, remedy="choose with --subset of prepare pairs, which makes a folder of it")
        joined.files |= {f"{prefix}.{split}": files for split, files in layout.files.items()}
        joined.class_names[prefix] = next(iter(layout.class_names.values()), {})
    return joined


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
    if not (path / "README.md").is_file():
        return Layout(files) if files else None
    # The client of the Hub, which `split_card` needs, takes longer to import.
    import yaml

    try:
        match = _HEAD.match((path / "README.md").read_text("utf-8-sig"))
        head = (match and yaml.safe_load(match[1])) or {}
        listed = [
            (entry["path"], entry["split"], f"{config['config_name']}.{entry['split']}")
            for config in head.get("configs") or ()
            for entry in config["data_files"]
        ]
        are_plain = all({*config} <= _PLAIN_CONFIG for config in head.get("configs") or ())
        class_names = _class_names_of_card(head)
    except (ValueError, OSError, AttributeError, TypeError, KeyError, yaml.YAMLError):
        return None  # `datasets` raises an error that describes the fault
    shards = {f"data/{name}-*" for name in files}
    are_own = all(pattern in shards & {f"data/{name}-*" for name in names} for pattern, *names in listed)
    return Layout(files, class_names=class_names) if files and are_plain and are_own else None


def _card_head(path: Path) -> str:
    """Return the metadata of the card of a folder as text; an empty text without a card."""
    card = path / "README.md"
    match = _HEAD.match(card.read_text("utf-8-sig", "replace")) if card.is_file() else None
    return match[1] if match else ""


def _class_names_of_card(head: Mapping[str, Any]) -> dict[str, dict[str, list[str]]]:
    """Read the names of classes from `dataset_info`, as `prepare` writes them."""
    infos = head.get("dataset_info") or []
    names: dict[str, dict[str, list[str]]] = {}
    for info in infos if isinstance(infos, list) else [infos]:
        own = names.setdefault(info.get("config_name", "default"), {})
        for column in info.get("features") or ():
            kind = column.get("list", column.get("dtype"))
            if isinstance(kind, dict) and "class_label" in kind:
                own[column["name"]] = list(kind["class_label"].get("names", {}).values())
    return names


def _hub_layout(dataset: HubDataset, subset: str | None) -> Layout:
    """Find the splits of a dataset on the Hub; the layout of each commit is stored in the cache of its client."""
    repo_id, subset, snapshot = dataset.repo_id, subset or dataset.subset, dataset.snapshot()
    record = snapshot.parents[1] / "layouts" / f"{snapshot.name}-{quote(subset or '', safe='')}-{__version__}.json"
    with suppress(OSError, ValueError):
        return _read_layout(record)
    with name_load_errors(repo_id):
        try:
            layout = _resolved_layout(repo_id, subset, snapshot.name)
        except Exception:
            import huggingface_hub

            with suppress(Exception):  # without a network all files may be in the cache
                options: Any = {"repo_type": "dataset", "revision": snapshot.name, "local_files_only": True}
                return _resolved_layout(huggingface_hub.snapshot_download(repo_id, **options), subset)
            raise
    layout.is_given = True  # a file that is missing is fetched
    if layout.files:
        with suppress(OSError):  # a cache that cannot be written
            record.parent.mkdir(exist_ok=True)
            atomic_write_text(record, json.dumps(vars(layout), default=str))
    return layout


def _read_layout(record: Path) -> Layout:
    """Read the stored layout of a commit; refuse it if unpacked files of a zip archive were removed since."""
    layout = Layout(**json.loads(record.read_text("utf-8")))
    layout.files = {split: list(map(_file_at, files)) for split, files in layout.files.items()}
    for file in chain.from_iterable(layout.files.values()):
        if isinstance(file, Path) and not isinstance(file, FsspecPath):
            file.stat()
    return layout


def _file_at(name: str) -> Any:
    """Return a path, or a :class:`HubFile` for a file on the Hub, which is downloaded when it is read."""
    return HubFile(name) if name.startswith(_HUB) else to_path(name)


def _resolved_layout(name: str, subset: str | None, revision: str | None = None) -> Layout:
    """Let `datasets` find the files of a folder or of a dataset on the Hub."""
    import datasets

    # In its own cache `datasets` may have the same data with types that it inferred.
    with temporary_folder() as cache:
        builder = datasets.load_dataset_builder(name, subset, revision=revision, cache_dir=str(cache))
    config, kind = builder.config, _READ_HERE.get(builder.name, "")
    class_names = {"default": _class_names(builder)}
    usual = type(config)()
    own = ("name", "version", "data_dir", "data_files", "description", *_OPTIONS_READ_HERE.get(builder.name, ()))
    plain = all(value == getattr(usual, key, value) for key, value in vars(config).items() if key not in own)
    listed_files = config.data_files or {}
    if kind and plain and listed_files:
        options = {"encoding": getattr(config, "encoding", None) or "utf-8"}
        if builder.name == "csv" and config.sep != ",":
            options["delimiter"] = config.sep
        files = {
            str(split): [_file_at(member) for file in listed for member in _members(str(file))]
            for split, listed in listed_files.items()
        }
        return Layout(files, kind, options, class_names=class_names)
    for listed in listed_files.values():
        # `datasets` would fetch them again at each reading.
        listed[:] = [os.fspath(HubFile(file)) if file.startswith(_HUB) else file for file in listed]
    _read_as_text(builder)
    streams = builder.as_streaming_dataset()
    return Layout(objects={str(split): rows for split, rows in streams.items()}, class_names=class_names)


def _class_names(builder: Any) -> dict[str, list[str]]:
    features = builder.info.features or {}
    items = {column: getattr(feature, "feature", feature) for column, feature in features.items()}
    return {column: list(item.names) for column, item in items.items() if hasattr(item, "names")}


def _members(file: str) -> list[str]:
    """List the files of a zip archive, which `datasets` unpacks in its cache; any other file is its only member."""
    if not file.lower().endswith(".zip"):
        return [file]
    import datasets

    manager = datasets.DownloadManager()
    return list(manager.iter_files(manager.download_and_extract(file)))


def _read_as_text(builder: Any) -> None:
    """Make `datasets` read CSV like our reader, unless the card has types: as text, with null for an empty field."""
    import datasets

    if builder.name != "csv" or builder.info.features is not None:
        return
    first = next(iter(next(iter(builder.as_streaming_dataset().values()))), None)
    if first is None:
        return
    kinds = {name: "float64" if name == "score" and isinstance(first[name], float) else "string" for name in first}
    features = datasets.Features({name: datasets.Value(kind) for name, kind in kinds.items()})
    builder.config.features = builder.info.features = features
    if builder.config.keep_default_na and builder.config.na_values is None:
        builder.config.keep_default_na, builder.config.na_values = False, [""]


class HubFile(os.PathLike[str]):
    """A file of a dataset on the Hub, which is downloaded into the cache of the Hub's client when it is first read."""

    def __init__(self, url: str) -> None:
        self._url = url
        self.name = url.rpartition("/")[2]

    def __fspath__(self) -> str:
        import huggingface_hub

        try:
            match = re.fullmatch(r"hf://datasets/([^@/]+/[^@/]+)(?:@([^/]+))?/(.+)", self._url)
            repo_id, revision, file = match.groups() if match else ("", None, self._url)
            return str(huggingface_hub.hf_hub_download(repo_id, file, repo_type="dataset", revision=revision))
        except Exception as error:  # of several libraries
            problem = f"cannot be fetched from the Hub: {sanitize_line(str(error), 300)}"
            remedy = "repeat the command; check your login (`hf auth login`), HF_HUB_OFFLINE and the network"
            raise InputError(problem, path=self._url, remedy=remedy) from error

    def __str__(self) -> str:
        return self._url


def _remote_layout(path: FsspecPath, subset: str | None) -> Layout:
    """Find the splits of a folder or file at a URL."""
    if path.is_file():
        return Layout({"train": [path]}, kind_of_rows(Path(path.name)) or "text", is_given=True)
    if not path.exists():
        raise InputError("no such file or data folder", path=path, remedy="check the URL")
    with name_load_errors(path):
        head: dict[str, Any] = {}
        if (card := path / "README.md").is_file():
            with card.open("rb") as stream:
                head, _ = split_card(stream.read().decode("utf-8-sig"))
        configs = {config.get("config_name", "default"): config for config in head.get("configs") or [{}]}
        defaults = [name for name, config in configs.items() if config.get("default") or name == "default"]
        if subset is not None and subset not in configs:
            raise InputError(f"no configuration `{subset}`", path=path, remedy=f"it has {[*configs]}")
        chosen = [subset] if subset is not None else defaults[:1] or [*configs]
        all_names = _class_names_of_card(head)
        layouts = {name: _remote_files(path, configs[name], all_names.get(name, {})) for name in chosen}
        return layouts[chosen[0]] if len(chosen) == 1 else _join_layouts(layouts)


def _remote_files(path: FsspecPath, config: Mapping[str, Any], class_names: dict[str, list[str]]) -> Layout:
    """Find the files of a configuration in a folder at a URL."""
    from datasets.data_files import DataFilesDict, get_data_patterns, sanitize_patterns

    # `datasets` lists no files through the caches of fsspec (`simplecache::s3://bucket/folder`).
    url = os.fspath(path).rstrip("/")
    caches = "".join(re.findall(r"(?:simple|file|block)cache::", url))
    url = f"{url.removeprefix(caches)}/{config.get('data_dir', '')}".rstrip("/")
    patterns = sanitize_patterns(config["data_files"]) if "data_files" in config else None
    resolved = DataFilesDict.from_patterns(patterns or get_data_patterns(url), base_path=url)
    files: dict[str, dict[str, list[Any]]] = {}
    for split, listed in resolved.items():
        for file in map(str, listed):
            # `datasets` returns a path for `file://`.
            location = to_path(f"{caches}file://{file}" if caches and file.startswith("/") else f"{caches}{file}")
            name = Path(location.name)
            if kind := kind_of_rows(name) or ("text" if plain_suffix(name) == ".txt" else None):
                files.setdefault(kind, {}).setdefault(str(split), []).append(location)
    if not files:
        raise InputError(_NO_FILES, path=path, remedy="check it")
    file_kind = max(files, key=lambda kind: sum(map(len, files[kind].values())))
    return Layout(files[file_kind], file_kind, class_names={"default": class_names})


@contextmanager
def name_load_errors(name: str | os.PathLike[str] | FsspecPath) -> Iterator[None]:
    """Turn any error of `datasets` into an `InputError` that names the data set."""
    try:
        yield
    except HfParaphraseError as error:
        error.path = error.path or os.fspath(name)
        raise
    except Exception as error:  # of several libraries
        reason = sanitize_line(str(error.__cause__ or error) or "it is empty", 300)
        if "BatchSize" in reason or "corresponds to no data" in reason:
            reason = "there are no rows"  # in a Parquet file, or below the header of CSV
        elif isinstance(error, KeyError):
            reason = f"some rows have no column {reason}"
        remedy = "check its files, its card, --split and --subset"
        problem = f"load_dataset cannot open it: {reason}"
        if match := re.search(r"(?s)Config name is missing.*?(\[.*?\])", str(error)):
            problem = f"no configuration is the default; it has {sanitize_line(match[1], 300)}"
            remedy = f"name one: {name}/CONFIG"
        raise InputError(problem, path=name, remedy=remedy) from error

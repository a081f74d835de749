"""Sources as data sets of `datasets`: `load_dataset`, and the builder of any source."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa

from ...errors import UsageError
from ...registry import SOURCES
from ...text.hashing import hash128
from .rows import SourceRows
from .source import Part, Source


def load_dataset(
    path: str,
    name: str | None = None,
    data_dir: str | os.PathLike[str] | None = None,
    data_files: Any = None,
    split: str | None = None,
    cache_dir: str | os.PathLike[str] | None = None,
    *,
    streaming: bool = False,
    num_proc: int | None = None,
    keep_in_memory: bool | None = None,
    download_mode: datasets.DownloadMode | str | None = None,
    verification_mode: datasets.VerificationMode | str | None = None,
    **settings: Any,
) -> datasets.Dataset | datasets.DatasetDict | datasets.IterableDataset | datasets.IterableDatasetDict:
    """Load a source of raw files as `datasets.load_dataset` loads a data set.

    Args:
        path: The name of a source, as in `prepare SOURCE`; anything else goes to `datasets.load_dataset`.
        name: The configuration, such as `labelled` of `opusparcus`; the first one for None.
        data_dir: The folder of the raw files.
        data_files: The files; not for a source.
        split: The split to return; all of them for None. Slices such as `train[:10%]` work.
        cache_dir: The folder of the cache.
        streaming: Read the raw files while the rows are iterated over, without a cache.
        num_proc: The number of processes that read. A source reads in threads of one process.
        keep_in_memory: Copy the rows into memory.
        download_mode: `force_redownload` reads the raw files again although they are in the cache.
        verification_mode: How the cached rows are checked.
        **settings: The flags of `prepare SOURCE`, such as `lang`, or further arguments of `datasets`.

    Returns:
        The same as `datasets.load_dataset` with this `split` and `streaming`.

    Raises:
        InputError: The raw files are missing or malformed.

    Example:
        >>> load_dataset("opusparcus", lang="fr", data_dir="opusparcus_v1", split="train", streaming=True)
    """
    folder = None if cache_dir is None else os.fspath(cache_dir)
    modes: dict[str, Any] = {"download_mode": download_mode, "verification_mode": verification_mode}
    if path not in SOURCES:
        raw = None if data_dir is None else os.fspath(data_dir)
        options: dict[str, Any] = {"streaming": streaming, "num_proc": num_proc, "keep_in_memory": keep_in_memory}
        return datasets.load_dataset(path, name, raw, data_files, split, folder, **options, **modes, **settings)
    if data_files is not None:
        raise UsageError("`data_files` is not for sources", remedy="name the files by the flags of prepare")
    if data_dir is not None:
        settings["data_dir"] = data_dir
    if not isinstance(SOURCES[path], type):
        raise UsageError(f"`{path}` makes several data sets", remedy=f"use hf-paraphrase prepare {path}")
    builder = SourceBuilder(path, name, folder, **settings)
    if streaming:
        return builder.as_streaming_dataset(split)
    builder.download_and_prepare(**modes)
    return builder.as_dataset(split, in_memory=bool(keep_in_memory))


@dataclasses.dataclass
class SourceConfig(datasets.BuilderConfig):
    """A source and its settings."""

    source: str = ""
    settings: dict[str, Any] = dataclasses.field(default_factory=dict)


class SourceBuilder(datasets.ArrowBasedBuilder):
    """Builds one configuration of a source, by default the first; settings are the flags of `prepare SOURCE`.

    Example:
        >>> builder = SourceBuilder("opusparcus", lang="fr", data_dir="opusparcus_v1")
        >>> builder.download_and_prepare()
        >>> pairs = builder.as_dataset(split="train")
    """

    BUILDER_CONFIG_CLASS = SourceConfig

    def __init__(
        self, source: str, config_name: str | None = None, cache_dir: str | None = None, **settings: Any
    ) -> None:
        self._source: Source = SOURCES[source](**settings)
        self._source.check()
        self._configuration = config_name or self._source.parts()[0].configuration
        super().__init__(
            cache_dir=cache_dir,
            dataset_name=source,
            config_name=self._configuration,
            # The cache must not return rows of another file of this name, or of an older version.
            hash=_input_state(Path(path).absolute() for path in self._source.inputs()),
            source=source,
            settings=settings,
        )

    def _info(self) -> datasets.DatasetInfo:
        source = self._source
        return datasets.DatasetInfo(description=source.DESCRIPTION or source.SUMMARY, license=source.LICENSE)

    def _split_generators(self, dl_manager: Any) -> list[datasets.SplitGenerator]:
        with self._opened() as rows:
            self.info.features = part_features(next(iter(rows.parts.values())))
            return [
                datasets.SplitGenerator(name=part.split, gen_kwargs={"name": name})
                for name, part in rows.parts.items()
            ]

    def _generate_tables(self, name: str) -> Iterator[tuple[tuple[int, int], pa.Table]]:
        with self._opened() as rows:
            for index, table in enumerate(rows.tables(name)):
                yield (0, index), table

    def _opened(self) -> SourceRows:
        return SourceRows(self._source, configuration=self._configuration)


def _input_state(paths: Iterable[Path]) -> str:
    """Make a key for a cache that changes when files, or files below folders, change."""
    files = (file for path in paths for file in (sorted(path.rglob("*")) if path.is_dir() else [path]))
    states = [(str(file), file.stat().st_size, file.stat().st_mtime_ns) for file in files if file.exists()]
    return hash128(json.dumps(states))


def part_features(part: Part) -> datasets.Features:
    """Return the features of a part: its schema, with the names of classes where it has any."""
    features = datasets.Features.from_arrow_schema(part.schema)
    for column, names in part.class_names.items():
        label = datasets.ClassLabel(names=list(names))
        features[column] = datasets.List(label) if isinstance(features[column], datasets.List) else label
    return features

"""The `datasets` builder of any source.

builder = SourceBuilder("opusparcus", lang="fr", data_dir="opusparcus_v1")
builder.download_and_prepare()
pairs = builder.as_dataset(split="train")
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa

from ...registry import SOURCES
from .rows import SourceRows
from .source import Part, Source


def input_state(paths: Iterable[Path]) -> str:
    """Make a key for a cache that changes when files, or files below folders, change."""
    states: list[tuple[str, int, int]] = []
    for path in paths:
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            stat = file.stat() if file.exists() else None
            states.append((str(file), stat.st_size if stat else -1, stat.st_mtime_ns if stat else -1))
    return sha256(json.dumps(states).encode()).hexdigest()[:16]


@dataclasses.dataclass
class SourceConfig(datasets.BuilderConfig):
    """A source and its settings."""

    source: str = ""
    settings: dict[str, Any] = dataclasses.field(default_factory=dict)


class SourceBuilder(datasets.ArrowBasedBuilder):
    """Builds one configuration, the first without a name, of a source; settings are the flags of `prepare SOURCE`."""

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
            hash=input_state(Path(path).absolute() for path in self._source.inputs()),
            source=source,
            settings=settings,
        )

    def _info(self) -> datasets.DatasetInfo:
        source = self._source
        return datasets.DatasetInfo(description=source.DESCRIPTION or source.SUMMARY, license=source.LICENSE)

    def _split_generators(self, dl_manager: Any) -> list[datasets.SplitGenerator]:
        with self._opened() as rows:
            parts = rows.parts.items()
            self.info.features = part_features(next(iter(rows.parts.values())))
            return [datasets.SplitGenerator(name=part.split, gen_kwargs={"name": name}) for name, part in parts]

    def _generate_tables(self, name: str) -> Iterator[tuple[tuple[int, int], pa.Table]]:
        with self._opened() as rows:
            for index, table in enumerate(rows.tables(name)):
                yield (0, index), table

    def _opened(self) -> SourceRows:
        return SourceRows(self._source, configuration=self._configuration)


def part_features(part: Part) -> datasets.Features:
    """Return the features of a part: its schema, with the names of classes where it has any."""
    features = datasets.Features.from_arrow_schema(part.schema)
    for column, names in part.class_names.items():
        features[column] = datasets.ClassLabel(names=list(names))
    return features

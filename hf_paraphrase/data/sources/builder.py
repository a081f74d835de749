"""The `datasets` builder of any source: `SourceBuilder("opusparcus", lang="fr", data_dir="opusparcus_v1")`.

    builder.download_and_prepare()
    pairs = builder.as_dataset(split="train")

`builder.as_streaming_dataset(split="train")` reads the files without a cache. `prepare SOURCE` makes a data folder of
the same rows, which opens without this package.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa
from datasets.exceptions import DatasetGenerationError

from ...errors import HfParaphraseError, UsageError
from ...inputs import input_state
from ...registry import SOURCES
from ...settings import constraints_of, default_of, flag
from .rows import SourceRows
from .source import Part, Source


@dataclasses.dataclass
class SourceConfig(datasets.BuilderConfig):
    """A source and its settings."""

    source: str = ""
    settings: dict[str, Any] = dataclasses.field(default_factory=dict)


class SourceBuilder(datasets.ArrowBasedBuilder):
    """Builds one configuration, the first without a name, of a source of `hf_paraphrase.registry.SOURCES`.

    The `settings` are the flags of `prepare SOURCE` as keywords.
    """

    BUILDER_CONFIG_CLASS = SourceConfig

    def __init__(
        self, source: str, config_name: str | None = None, cache_dir: str | None = None, **settings: Any
    ) -> None:
        source_class: type[Source] = SOURCES[source]
        for field in dataclasses.fields(source_class):
            if default_of(field) is dataclasses.MISSING and field.name not in settings:
                raise UsageError(f"no {flag(field.name)}", remedy=f"give {field.metadata.get('help', field.name)}")
            # The cache knows a configuration by its settings, so that paths must be absolute.
            if constraints_of(field).path and (value := settings.get(field.name)):
                many = isinstance(value, list | tuple)
                paths = [str(Path(path).resolve()) for path in (value if many else [value])]
                settings[field.name] = paths if many else paths[0]
        self._source = source_class(**settings)
        self._configuration = config_name or self._source.parts()[0].configuration
        super().__init__(
            cache_dir=cache_dir,
            dataset_name=source,
            config_name=self._configuration,
            # It shall not give the rows of what a file held before.
            hash=input_state(self._source.inputs()),
            source=source,
            settings=settings,
        )

    def _info(self) -> datasets.DatasetInfo:
        source = self._source
        return datasets.DatasetInfo(description=source.DESCRIPTION, citation=source.CITATION, license=source.LICENSE)

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

    def download_and_prepare(self, *arguments: Any, **options: Any) -> None:
        """Reads the files into the cache; bad input reaches the caller as it is."""
        try:
            super().download_and_prepare(*arguments, **options)
        except DatasetGenerationError as error:
            if isinstance(error.__cause__, HfParaphraseError):
                raise error.__cause__ from None
            raise


def part_features(part: Part) -> datasets.Features:
    """Returns the features of a part: its schema, with the names of classes where it has any."""
    features = datasets.Features.from_arrow_schema(part.schema)
    for column, names in part.class_names.items():
        features[column] = datasets.ClassLabel(names=list(names))
    return features

"""The `datasets` builder of a source: `class SickBuilder(SourceBuilder, source=SickSource)` is all that it takes.

The builder stands in the source's own module, so that the module's name is that of the builder and of its cache. Such
a module also runs as a loading script under datasets 3, where it is copied out of the package: therefore it imports
from `hf_paraphrase` by absolute names, one module a line.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import datasets
import pyarrow as pa

from ...errors import UsageError
from ...settings import flag
from .corpus import Corpus
from .source import Source


class SourceBuilder(datasets.ArrowBasedBuilder):
    """Builds one configuration of a source."""

    SOURCE: ClassVar[type[Source]]

    def __init_subclass__(cls, source: type[Source] | None = None, **options: Any) -> None:
        super().__init_subclass__(**options)
        if source is not None:
            cls.SOURCE = source
            # The fields of `datasets` come last and have defaults: `data_dir` is one of them.
            config = type(f"{source.__name__}Config", (datasets.BuilderConfig, source), {"__module__": cls.__module__})
            # Where pickle finds it again.
            config.__qualname__ = f"{cls.__qualname__}.BUILDER_CONFIG_CLASS"
            cls.BUILDER_CONFIG_CLASS = dataclasses.dataclass(eq=False)(config)

    def __init__(self, cache_dir: str | None = None, config_name: str | None = None, **settings: Any) -> None:
        # The cache knows a configuration by its settings alone: paths must be absolute, and the state of the files
        # must be among the settings, or it would give the rows of another file, or of what a file held before.
        inputs: list[str | Path] = []
        for name in (*self.SOURCE.PATHS, "decontaminate"):
            if value := settings.get(name):
                many = isinstance(value, list | tuple)
                paths = [str(Path(path).resolve()) for path in (value if many else [value])]
                settings[name] = paths if many else paths[0]
                inputs += paths
        inputs += self.SOURCE.other_inputs(settings)
        settings["hash"] = input_state(inputs, settings.get("hash"))
        name, self._configuration = self.SOURCE.choose(config_name, settings)
        for field in dataclasses.fields(self.BUILDER_CONFIG_CLASS):
            required = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
            if required and field.name not in settings:
                raise UsageError(f"no {flag(field.name)}", remedy=f"give {field.metadata.get('help', field.name)}")
        self._corpus: Corpus | None = None
        super().__init__(cache_dir=cache_dir, config_name=name, **settings)

    def __getstate__(self) -> dict[str, Any]:
        # The temporary rows belong to this process; another one parses the files again.
        return {**self.__dict__, "_corpus": None}

    def _info(self) -> datasets.DatasetInfo:
        schema = self.config.known_schema()
        return datasets.DatasetInfo(
            description=self.SOURCE.DESCRIPTION,
            citation=self.SOURCE.CITATION,
            license=self.SOURCE.LICENSE,
            features=None if schema is None else datasets.Features.from_arrow_schema(schema),
        )

    def _split_generators(self, dl_manager: Any) -> list[datasets.SplitGenerator]:
        # Parsing belongs here: what is raised while tables are generated would be wrapped in another error.
        corpus = self._open()
        self.info.features = part_features(corpus, next(iter(corpus.parts)))
        return [
            datasets.SplitGenerator(name=part.split, gen_kwargs={"part": name}) for name, part in corpus.parts.items()
        ]

    def _generate_tables(self, part: str) -> Iterator[tuple[tuple[int, int], pa.Table]]:
        for index, table in enumerate(self._open().batches(part)):
            yield (0, index), table

    def _open(self) -> Corpus:
        if self._corpus is None:
            self._corpus = Corpus(self.config, configuration=self._configuration)
        return self._corpus


def part_features(corpus: Corpus, name: str) -> datasets.Features:
    """Returns the features of a part: its schema, with the names of classes where it has any."""
    features = datasets.Features.from_arrow_schema(corpus.schema(name))
    for column, names in corpus.parts[name].class_names.items():
        features[column] = datasets.ClassLabel(names=list(names))
    return features


def input_state(paths: Iterable[str | Path], salt: str | None = None) -> str:
    """Makes a key for the cache of `datasets` that changes when the raw files change.

    Returns:
        16 hexadecimal digits.
    """
    states: list[tuple[str, int, int]] = []
    for path in map(Path, paths):
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            stat = file.stat() if file.exists() else None
            states.append((str(file), stat.st_size if stat else -1, stat.st_mtime_ns if stat else -1))
    return hashlib.sha256(json.dumps([salt, states]).encode()).hexdigest()[:16]

"""The part of the `datasets` builders that is the same for all sources.

A source's own module defines its options, a configuration class and a builder class, so that its name is the name of
the builder and of its cache. Such a module also runs as a loading script under datasets 3, where it is copied out of
the package: therefore it imports from `hf_paraphrase` by absolute names, one module a line.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import datasets
import pyarrow as pa

from ...errors import UsageError
from ..input_state import input_state
from .source import Part, SourceCorpus


class SourceBuilder(datasets.ArrowBasedBuilder):
    """Builds one configuration of a source.

    Args:
        cache_dir: Where prepared rows are kept; the cache of `datasets` by default.
        config_name: The configuration; the source's default one where it is left out.
        settings: The fields of the source's options, and any other argument of `datasets.DatasetBuilder`.

    Raises:
        UsageError: For settings that do not fit together.
        InputError: For files that are missing or malformed, when the rows are built.
    """

    DESCRIPTION: ClassVar[str] = ""
    CITATION: ClassVar[str] = ""
    LICENSE: ClassVar[str] = ""

    def __init__(self, cache_dir: str | None = None, config_name: str | None = None, **settings: Any) -> None:
        options = self.BUILDER_CONFIG_CLASS
        # The cache knows a configuration by its settings alone: paths must be absolute, and the state of the files
        # must be among the settings, or it would give the rows of another file, or of what a file held before.
        inputs: list[str] = []
        for name in (*options.PATHS, "decontaminate"):
            if value := settings.get(name):
                many = isinstance(value, (list, tuple))
                paths = [str(Path(path).resolve()) for path in (value if many else [value])]
                settings[name] = paths if many else paths[0]
                inputs += paths
        settings["hash"] = input_state(inputs, settings.get("hash"))
        name, self._configuration = self.choose(config_name, settings)
        self._corpus: SourceCorpus | None = None
        super().__init__(cache_dir=cache_dir, config_name=name, **settings)

    @classmethod
    def choose(cls, config_name: str | None, settings: dict[str, Any]) -> tuple[str, str]:
        """Finds the configuration that a name stands for; may add to the settings what the name tells.

        Args:
            config_name: What the caller gave.
            settings: The builder's settings.

        Returns:
            The name for the cache, and the configuration of the parts.

        Raises:
            UsageError: If the source has several configurations and the name is none of them.
        """
        configurations = cls.BUILDER_CONFIG_CLASS.CONFIGURATIONS
        name = config_name or configurations[0]
        if name in configurations or len(configurations) == 1:
            return name, name if name in configurations else configurations[0]
        raise UsageError(f"no configuration `{name}`", remedy=f"one of {', '.join(configurations)}")

    def __getstate__(self) -> dict[str, Any]:
        # The temporary rows belong to this process; another one parses the files again.
        return {**self.__dict__, "_corpus": None}

    def _info(self) -> datasets.DatasetInfo:
        return datasets.DatasetInfo(description=self.DESCRIPTION, citation=self.CITATION, license=self.LICENSE)

    def _split_generators(self, dl_manager: Any) -> list[datasets.SplitGenerator]:
        # Parsing belongs here: what is raised while tables are generated would be wrapped in another error.
        corpus = self._open()
        self.info.features = part_features(corpus, corpus.parts[0])
        return [datasets.SplitGenerator(name=part.split, gen_kwargs={"part": part.name}) for part in corpus.parts]

    def _generate_tables(self, part: str) -> Iterator[tuple[tuple[int, int], pa.Table]]:
        corpus = self._open()
        for index, table in enumerate(corpus.batches(corpus.part(part))):
            yield (0, index), table

    def _open(self) -> SourceCorpus:
        if self._corpus is None:
            self._corpus = SourceCorpus(self.config, configuration=self._configuration)
        return self._corpus


def part_features(corpus: SourceCorpus, part: Part) -> datasets.Features:
    """Returns the features of a part: its schema, with the names of classes where it has any."""
    features = datasets.Features.from_arrow_schema(corpus.schema(part))
    for column, names in part.class_names.items():
        features[column] = datasets.ClassLabel(names=list(names))
    return features

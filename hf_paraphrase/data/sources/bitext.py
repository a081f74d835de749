"""Line-aligned files, tab-separated text, a translation memory or gettext catalogues as a `datasets` builder.

    builder = BitextBuilder(source_file="train.fr.gz", target_file="train.en.gz", source_lang="fr", target_lang="en")
    builder.download_and_prepare()
    bitext = builder.as_dataset(split="train")

`prepare bitext` makes a data folder of the same rows that opens without this package. Under datasets 3 this file runs
as a loading script, see :mod:`hf_paraphrase.data.sources.source_builder`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa

from hf_paraphrase.data.input_state import input_state
from hf_paraphrase.data.schema import BITEXT
from hf_paraphrase.data.sources.bitext_corpus import BitextCorpus, BitextOptions
from hf_paraphrase.data.sources.gettext_catalogue import package_folders

_PATHS = (
    "source_file",
    "target_file",
    "tsv",
    "tmx",
    "gettext",
    "validation_source_file",
    "validation_target_file",
    "test_source_file",
    "test_target_file",
)


@dataclass
class BitextConfig(datasets.BuilderConfig, BitextOptions):
    """The configuration of a bitext: the fields of :class:`BitextOptions`."""


class BitextBuilder(datasets.ArrowBasedBuilder):
    """Builds a bitext with the columns `id`, `source`, `target`, `source_lang` and `target_lang`.

    Args:
        cache_dir: Where prepared rows are kept; the cache of `datasets` by default.
        config_name: A name for this bitext; the language pair, e.g. `fr-en`, by default.
        settings: The fields of :class:`BitextOptions`, and any other argument of `datasets.DatasetBuilder`.

    Raises:
        UsageError: For settings that do not fit together.
        InputError: For files that are missing or malformed, when the rows are built.
    """

    BUILDER_CONFIG_CLASS = BitextConfig

    def __init__(self, cache_dir: str | None = None, config_name: str | None = None, **settings: Any) -> None:
        # The cache knows a configuration by its settings alone. Absolute paths, sizes and modification times among
        # them keep it from giving the rows of another file, or of what a file held before.
        for name in _PATHS:
            if settings.get(name) is not None:
                settings[name] = str(Path(settings[name]).resolve())
        settings["decontaminate"] = [str(Path(path).resolve()) for path in settings.get("decontaminate") or []]
        inputs = [settings[name] for name in _PATHS if settings.get(name)]
        if settings.get("gettext_package"):
            inputs += package_folders(settings["gettext_package"])
        settings["hash"] = input_state([*inputs, *settings["decontaminate"]], settings.get("hash"))
        name = config_name or f"{settings.get('source_lang') or 'xx'}-{settings.get('target_lang') or 'xx'}"
        self._corpus: BitextCorpus | None = None
        super().__init__(cache_dir=cache_dir, config_name=name, **settings)

    def __getstate__(self) -> dict[str, Any]:
        # The temporary rows belong to this process; another one parses the files again.
        return {**self.__dict__, "_corpus": None}

    def _info(self) -> datasets.DatasetInfo:
        return datasets.DatasetInfo(
            description="Parallel text, one sentence pair a row.", features=datasets.Features.from_arrow_schema(BITEXT)
        )

    def _split_generators(self, dl_manager: Any) -> list[datasets.SplitGenerator]:
        # Parsing belongs here: what is raised while tables are generated would be wrapped in another error.
        corpus = self._open()
        return [datasets.SplitGenerator(name=split, gen_kwargs={"split": split}) for split in corpus.splits]

    def _generate_tables(self, split: str) -> Iterator[tuple[tuple[int, int], pa.Table]]:
        for index, table in enumerate(self._open().batches(split)):
            yield (0, index), table

    def _open(self) -> BitextCorpus:
        if self._corpus is None:
            self._corpus = BitextCorpus(self.config)
        return self._corpus

"""A TSV, CSV, JSON lines or Parquet file of paraphrase pairs as a `datasets` builder.

    builder = PairsBuilder(tsv="graded.tsv", columns="sentence1,sentence2,score")
    builder.download_and_prepare()
    pairs = builder.as_dataset(split="train")

`prepare pairs` makes a data folder of the same rows that opens without this package. Under datasets 3 this file runs
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
from hf_paraphrase.data.parquet import check_split_name
from hf_paraphrase.data.sources.pair_corpus import PairCorpus, PairOptions


@dataclass
class PairsConfig(datasets.BuilderConfig, PairOptions):
    """The configuration of a paraphrase set: the fields of :class:`PairOptions`.

    Attributes:
        split: The name of the one split.
    """

    split: str = "train"


class PairsBuilder(datasets.ArrowBasedBuilder):
    """Builds a paraphrase set with `sentence1`, `sentence2` and the further columns that are named.

    Args:
        cache_dir: Where prepared rows are kept; the cache of `datasets` by default.
        config_name: A name for this set; `pairs` by default.
        settings: The fields of :class:`PairOptions`, `split`, and any other argument of `datasets.DatasetBuilder`.

    Raises:
        UsageError: For settings that do not fit together.
        InputError: For a file that is missing or malformed, when the rows are built.
    """

    BUILDER_CONFIG_CLASS = PairsConfig

    def __init__(self, cache_dir: str | None = None, config_name: str | None = None, **settings: Any) -> None:
        # As for the bitext: the cache must not give the rows of another file, or of what a file held before.
        for name in ("tsv", "csv", "jsonl", "parquet"):
            if settings.get(name):
                settings[name] = str(Path(settings[name]).resolve())
        raw = [settings[name] for name in ("tsv", "csv", "jsonl", "parquet") if settings.get(name)]
        settings["decontaminate"] = [str(Path(path).resolve()) for path in settings.get("decontaminate") or []]
        settings["hash"] = input_state([*raw, *settings["decontaminate"]], settings.get("hash"))
        self._corpus: PairCorpus | None = None
        super().__init__(cache_dir=cache_dir, config_name=config_name or "pairs", **settings)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_corpus": None}

    def _info(self) -> datasets.DatasetInfo:
        check_split_name(self.config.split)
        return datasets.DatasetInfo(
            description="Paraphrase pairs.", features=datasets.Features.from_arrow_schema(self.config.schema())
        )

    def _split_generators(self, dl_manager: Any) -> list[datasets.SplitGenerator]:
        # Parsing belongs here: what is raised while tables are generated would be wrapped in another error.
        self._open()
        return [datasets.SplitGenerator(name=self.config.split, gen_kwargs={"split": self.config.split})]

    def _generate_tables(self, split: str) -> Iterator[tuple[tuple[int, int], pa.Table]]:
        for index, table in enumerate(self._open().batches()):
            yield (0, index), table

    def _open(self) -> PairCorpus:
        if self._corpus is None:
            self._corpus = PairCorpus(self.config)
        return self._corpus

"""The STS benchmark (Cer et al. 2017) as a `datasets` builder.

    builder = StsBenchmarkBuilder(data_dir="stsbenchmark")
    builder.download_and_prepare()
    pairs = builder.as_dataset(split="validation")

Splits: `train`, `validation` and `test`, from sts-train.csv, sts-dev.csv and sts-test.csv,
as far as they are there. Under datasets 3 this file runs as a loading script, see
:mod:`hf_paraphrase.data.sources.source_builder`. `prepare stsbenchmark` makes a data folder of the same rows, which
`evaluate` reads as it does the raw files.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import datasets

from hf_paraphrase.data.sources.graded_source import GradedSourceOptions
from hf_paraphrase.data.sources.source_builder import SourceBuilder


@dataclass
class StsBenchmarkOptions(GradedSourceOptions):
    """What to read; the flags of `prepare stsbenchmark` have the same names and meanings."""

    FAMILY: ClassVar[str] = "STS-B"
    EXPECTED: ClassVar[tuple[str, ...]] = ("train", "validation", "test")


@dataclass
class StsBenchmarkConfig(datasets.BuilderConfig, StsBenchmarkOptions):
    """The configuration of the builder: the fields of :class:`StsBenchmarkOptions`."""


class StsBenchmarkBuilder(SourceBuilder):
    """Builds the STS benchmark (Cer et al. 2017): graded pairs."""

    BUILDER_CONFIG_CLASS = StsBenchmarkConfig
    DESCRIPTION = "A selection of SemEval STS 2012-2017, scored from 0 to 5."
    CITATION = (
        "Daniel Cer, Mona Diab, Eneko Agirre, Iñigo Lopez-Gazpio and Lucia Specia. 2017. SemEval-2017 Task 1: "
        "Semantic Textual Similarity Multilingual and Crosslingual Focused Evaluation. In Proceedings of SemEval "
        "2017."
    )
    LICENSE = "cc-by-sa-4.0"

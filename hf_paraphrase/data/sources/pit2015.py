"""PIT-2015 (Xu, Callison-Burch and Dolan 2015) as a `datasets` builder.

    builder = Pit2015Builder(data_dir="pit2015")
    builder.download_and_prepare()
    pairs = builder.as_dataset(split="validation")

Splits: `train`, `validation` and `test`, from train.data, dev.data, test.data and test.label,
as far as they are there. Under datasets 3 this file runs as a loading script, see
:mod:`hf_paraphrase.data.sources.source_builder`. `prepare pit2015` makes a data folder of the same rows, which
`evaluate` reads as it does the raw files.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import datasets

from hf_paraphrase.data.sources.graded_source import GradedSourceOptions
from hf_paraphrase.data.sources.source_builder import SourceBuilder


@dataclass
class Pit2015Options(GradedSourceOptions):
    """What to read; the flags of `prepare pit2015` have the same names and meanings."""

    FAMILY: ClassVar[str] = "Twitter"
    EXPECTED: ClassVar[tuple[str, ...]] = ("train", "validation", "test")


@dataclass
class Pit2015Config(datasets.BuilderConfig, Pit2015Options):
    """The configuration of the builder: the fields of :class:`Pit2015Options`."""


class Pit2015Builder(SourceBuilder):
    """Builds PIT-2015 (Xu, Callison-Burch and Dolan 2015): graded pairs."""

    BUILDER_CONFIG_CLASS = Pit2015Config
    DESCRIPTION = "Pairs of tweets on one topic, judged as paraphrases."
    CITATION = (
        "Wei Xu, Chris Callison-Burch and Bill Dolan. 2015. SemEval-2015 Task 1: Paraphrase and Semantic "
        "Similarity in Twitter (PIT). In Proceedings of SemEval 2015."
    )

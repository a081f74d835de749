"""SICK 2014 (Marelli et al. 2014) as a `datasets` builder.

    builder = SickBuilder(data_dir="sick")
    builder.download_and_prepare()
    pairs = builder.as_dataset(split="validation")

Splits: `train`, `validation` and `test`, from SICK_train.txt, SICK_trial.txt and SICK_test_annotated.txt,
as far as they are there. Under datasets 3 this file runs as a loading script, see
:mod:`hf_paraphrase.data.sources.source_builder`. `prepare sick` makes a data folder of the same rows, which
`evaluate` reads as it does the raw files.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import datasets

from hf_paraphrase.data.sources.graded_source import GradedSourceOptions
from hf_paraphrase.data.sources.source_builder import SourceBuilder


@dataclass
class SickOptions(GradedSourceOptions):
    """What to read; the flags of `prepare sick` have the same names and meanings."""

    FAMILY: ClassVar[str] = "SICK"
    EXPECTED: ClassVar[tuple[str, ...]] = ("train", "validation", "test")


@dataclass
class SickConfig(datasets.BuilderConfig, SickOptions):
    """The configuration of the builder: the fields of :class:`SickOptions`."""


class SickBuilder(SourceBuilder):
    """Builds SICK 2014 (Marelli et al. 2014): graded pairs."""

    BUILDER_CONFIG_CLASS = SickConfig
    DESCRIPTION = "Sentence pairs with relatedness from 1 to 5 and entailment."
    CITATION = (
        "Marco Marelli, Stefano Menini, Marco Baroni, Luisa Bentivogli, Raffaella Bernardi and Roberto "
        "Zamparelli. 2014. A SICK Cure for the Evaluation of Compositional Distributional Semantic Models. In "
        "Proceedings of LREC 2014."
    )
    LICENSE = "cc-by-nc-sa-3.0"

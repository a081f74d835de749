"""SICK 2014 (Marelli et al. 2014) as a `datasets` builder.

    builder = SickBuilder(data_dir="sick")
    builder.download_and_prepare()
    pairs = builder.as_dataset(split="validation")

Splits: `train`, `validation` and `test`, from SICK_train.txt, SICK_trial.txt and SICK_test_annotated.txt,
as far as they are there. Under datasets 3 this file runs as a loading script, see
:mod:`hf_paraphrase.data.sources.builder`. `prepare sick` makes a data folder of the same rows, which
`evaluate` reads as it does the raw files.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hf_paraphrase.data.sources.builder import SourceBuilder
from hf_paraphrase.data.sources.graded_source import GradedSource
from hf_paraphrase.settings import setting


@dataclass(kw_only=True)
class SickSource(GradedSource):
    """Makes a data folder of SICK 2014 (Marelli et al. 2014)."""

    SUMMARY: ClassVar[str] = "SICK 2014: graded pairs"
    TITLE: ClassVar[str] = "SICK 2014"
    DESCRIPTION: ClassVar[str] = "Sentence pairs with relatedness from 1 to 5 and entailment."
    CITATION: ClassVar[str] = (
        "Marco Marelli, Stefano Menini, Marco Baroni, Luisa Bentivogli, Raffaella Bernardi and Roberto "
        "Zamparelli. 2014. A SICK Cure for the Evaluation of Compositional Distributional Semantic Models. In "
        "Proceedings of LREC 2014."
    )
    LICENSE: ClassVar[str] = "cc-by-nc-sa-3.0"
    URL: ClassVar[str] = "https://zenodo.org/records/2787612"
    TAGS: ClassVar[tuple[str, ...]] = ("semantic-textual-similarity",)
    TEMPLATE: ClassVar[str] = "sick"
    FAMILY: ClassVar[str] = "SICK"
    EXPECTED: ClassVar[tuple[str, ...]] = ("train", "validation", "test")

    data_dir: str = setting(
        "the folder below which SICK_train.txt, SICK_trial.txt and SICK_test_annotated.txt are, or some of them",
        path=True,
    )


class SickBuilder(SourceBuilder, source=SickSource):
    """Builds SICK 2014 (Marelli et al. 2014): graded pairs."""

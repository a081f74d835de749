"""The STS benchmark (Cer et al. 2017) as a `datasets` builder.

    builder = StsBenchmarkBuilder(data_dir="stsbenchmark")
    builder.download_and_prepare()
    pairs = builder.as_dataset(split="validation")

Splits: `train`, `validation` and `test`, from sts-train.csv, sts-dev.csv and sts-test.csv,
as far as they are there. Under datasets 3 this file runs as a loading script, see
:mod:`hf_paraphrase.data.sources.builder`. `prepare stsbenchmark` makes a data folder of the same rows, which
`evaluate` reads as it does the raw files.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hf_paraphrase.data.sources.builder import SourceBuilder
from hf_paraphrase.data.sources.graded_source import GradedSource
from hf_paraphrase.settings import setting


@dataclass(kw_only=True)
class StsBenchmarkSource(GradedSource):
    """Makes a data folder of the STS benchmark (Cer et al. 2017)."""

    SUMMARY: ClassVar[str] = "the STS benchmark: graded pairs"
    TITLE: ClassVar[str] = "STS benchmark"
    DESCRIPTION: ClassVar[str] = "A selection of SemEval STS 2012-2017, scored from 0 to 5."
    CITATION: ClassVar[str] = (
        "Daniel Cer, Mona Diab, Eneko Agirre, Iñigo Lopez-Gazpio and Lucia Specia. 2017. SemEval-2017 Task 1: "
        "Semantic Textual Similarity Multilingual and Crosslingual Focused Evaluation. In Proceedings of SemEval "
        "2017."
    )
    LICENSE: ClassVar[str] = "cc-by-sa-4.0"
    URL: ClassVar[str] = "http://ixa2.si.ehu.eus/stswiki/index.php/STSbenchmark"
    TAGS: ClassVar[tuple[str, ...]] = ("semantic-textual-similarity",)
    TEMPLATE: ClassVar[str] = "stsbenchmark"
    FAMILY: ClassVar[str] = "STS-B"
    EXPECTED: ClassVar[tuple[str, ...]] = ("train", "validation", "test")

    data_dir: str = setting(
        "the folder below which sts-train.csv, sts-dev.csv and sts-test.csv are, or some of them", path=True
    )


class StsBenchmarkBuilder(SourceBuilder, source=StsBenchmarkSource):
    """Builds the STS benchmark (Cer et al. 2017): graded pairs."""

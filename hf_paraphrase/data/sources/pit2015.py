"""PIT-2015 (Xu, Callison-Burch and Dolan 2015) as a `datasets` builder.

    builder = Pit2015Builder(data_dir="pit2015")
    builder.download_and_prepare()
    pairs = builder.as_dataset(split="validation")

Splits: `train`, `validation` and `test`, from train.data, dev.data, test.data and test.label,
as far as they are there. Under datasets 3 this file runs as a loading script, see
:mod:`hf_paraphrase.data.sources.builder`. `prepare pit2015` makes a data folder of the same rows, which
`evaluate` reads as it does the raw files.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hf_paraphrase.data.sources.builder import SourceBuilder
from hf_paraphrase.data.sources.graded_source import GradedSource
from hf_paraphrase.settings import setting


@dataclass(kw_only=True)
class Pit2015Source(GradedSource):
    """Makes a data folder of PIT-2015 (Xu, Callison-Burch and Dolan 2015)."""

    SUMMARY: ClassVar[str] = "PIT-2015: graded pairs of tweets"
    TITLE: ClassVar[str] = "PIT-2015: paraphrases in Twitter"
    DESCRIPTION: ClassVar[str] = "Pairs of tweets on one topic, judged as paraphrases."
    CITATION: ClassVar[str] = (
        "Wei Xu, Chris Callison-Burch and Bill Dolan. 2015. SemEval-2015 Task 1: Paraphrase and Semantic "
        "Similarity in Twitter (PIT). In Proceedings of SemEval 2015."
    )
    URL: ClassVar[str] = "https://github.com/cocoxu/SemEval-PIT2015"
    TAGS: ClassVar[tuple[str, ...]] = ("semantic-textual-similarity",)
    TEMPLATE: ClassVar[str] = "pit2015"
    FAMILY: ClassVar[str] = "Twitter"
    EXPECTED: ClassVar[tuple[str, ...]] = ("train", "validation", "test")

    data_dir: str = setting(
        "the folder below which train.data, dev.data, test.data and test.label are, or some of them",
        path=True,
    )


class Pit2015Builder(SourceBuilder, source=Pit2015Source):
    """Builds PIT-2015 (Xu, Callison-Burch and Dolan 2015): graded pairs."""

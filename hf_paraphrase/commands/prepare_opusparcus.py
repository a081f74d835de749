"""`prepare opusparcus`: subtitle paraphrases of one language to a data folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..data.sources.opusparcus import OpusparcusOptions
from ..settings import setting
from .arguments import parse
from .prepare_source import SourceCard, TrainingSourceArguments, prepare_source


@dataclass(kw_only=True)
class Arguments(TrainingSourceArguments):
    """Makes a data folder of Opusparcus 1.0 (Creutz 2018) for one language.

    The split train holds ranked pairs, best first; validation and test hold pairs with the annotators' mean score.
    The configuration `labelled` is validation and test without the pairs scored 2.5.
    """

    data_dir: str = setting("the unpacked distribution, with fr/train/fr-train.txt.bz2 and so on, or Parquet files")
    lang: str = setting("the language", choices=["de", "en", "fi", "fr", "ru", "sv"], names=["--lang", "--language"])
    quality: int | None = setting(
        "take the training pairs, best first, of which this percentage is estimated to be good; published are 90, 80, "
        "70, 60 (de), 97, 80, 70, 60 (en), 83, 80, 70, 60 (fi), 95, 80, 70, 60 (fr), 85, 80, 70, 60 (ru, sv)",
        None,
    )
    quality_table: str | None = setting(
        "a file of language, percentage, number of pairs (tab-separated) for --quality instead of the published ones",
        None,
    )
    first: int = setting("take this many training pairs, best first; 0 = all", 0)


def main(argv: Sequence[str]) -> None:
    """Runs `prepare opusparcus`."""
    arguments = parse(Arguments, "prepare opusparcus", argv)
    card = SourceCard(
        "opusparcus",
        f"Opusparcus 1.0 ({arguments.lang})",
        "cc-by-nc-4.0",
        (arguments.lang,),
        values={"lang": arguments.lang},
        url="https://huggingface.co/datasets/GEM/opusparcus",
    )
    prepare_source(arguments, OpusparcusOptions, "prepare opusparcus", card)

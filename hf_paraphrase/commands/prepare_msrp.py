"""`prepare msrp`: the Microsoft Research Paraphrase Corpus to a data folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..data.sources.msrp import MsrpOptions
from ..settings import setting
from .arguments import parse
from .prepare_source import SourceArguments, SourceCard, prepare_source


@dataclass(kw_only=True)
class Arguments(SourceArguments):
    """Makes a data folder of the Microsoft Research Paraphrase Corpus."""

    data_dir: str = setting("the folder below which msr_paraphrase_train.txt and msr_paraphrase_test.txt lie")


def main(argv: Sequence[str]) -> None:
    """Runs `prepare msrp`."""
    arguments = parse(Arguments, "prepare msrp", argv)
    card = SourceCard(
        "msrp",
        "Microsoft Research Paraphrase Corpus",
        None,
        tasks=("text-classification",),
        url="https://www.microsoft.com/en-us/download/details.aspx?id=52398",
    )
    prepare_source(arguments, MsrpOptions, "prepare msrp", card)

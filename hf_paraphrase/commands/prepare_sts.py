"""`prepare sts`: the SemEval STS sets to a data folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..data.sources.sts import StsOptions
from ..settings import setting
from .arguments import parse
from .prepare_source import SourceArguments, SourceCard, prepare_source


@dataclass(kw_only=True)
class Arguments(SourceArguments):
    """Makes a data folder of SemEval STS 2012–2016, one split a year; `evaluate` reads it as it does the raw files."""

    data_dir: str = setting(
        "the folder below which files such as STS12-en-test/STS.input.MSRpar.txt and STS.gs.MSRpar.txt lie"
    )


def main(argv: Sequence[str]) -> None:
    """Runs `prepare sts`."""
    arguments = parse(Arguments, "prepare sts", argv)
    card = SourceCard(
        "sts",
        "SemEval STS",
        None,
        tags=("semantic-textual-similarity",),
        url="http://ixa2.si.ehu.eus/stswiki/",
    )
    prepare_source(arguments, StsOptions, "prepare sts", card)

"""`prepare pit2015`: PIT-2015 (Xu, Callison-Burch and Dolan 2015) to a data folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..data.sources.pit2015 import Pit2015Options
from ..settings import setting
from .arguments import parse
from .prepare_source import SourceArguments, SourceCard, prepare_source


@dataclass(kw_only=True)
class Arguments(SourceArguments):
    """Makes a data folder of PIT-2015 (Xu, Callison-Burch and Dolan 2015)."""

    data_dir: str = setting(
        "the folder below which train.data, dev.data, test.data and test.label lie, or some of them"
    )


def main(argv: Sequence[str]) -> None:
    """Runs `prepare pit2015`."""
    arguments = parse(Arguments, "prepare pit2015", argv)
    card = SourceCard(
        "pit2015",
        "PIT-2015: paraphrases in Twitter",
        None,
        tags=("semantic-textual-similarity",),
        url="https://github.com/cocoxu/SemEval-PIT2015",
    )
    prepare_source(arguments, Pit2015Options, "prepare pit2015", card)

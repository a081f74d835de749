"""`prepare simpwiki`: pairs of English and Simple English Wikipedia sentences to a data folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..data.sources.simpwiki import SimpwikiOptions
from ..settings import setting
from .arguments import parse
from .prepare_source import SourceCard, TrainingSourceArguments, prepare_source


@dataclass(kw_only=True)
class Arguments(TrainingSourceArguments):
    """Makes a data folder of SimpWiki 2.0 (Coster and Kauchak 2011), or of plain aligned sentences."""

    normal: str = setting("`normal.aligned`: title, paragraph number, sentence, tab-separated; or plain sentences")
    simple: str = setting("`simple.aligned`, line by line")
    drop_identical: bool = setting("leave out pairs of which both sides are the same", False)


def main(argv: Sequence[str]) -> None:
    """Runs `prepare simpwiki`."""
    arguments = parse(Arguments, "prepare simpwiki", argv)
    card = SourceCard(
        "simpwiki",
        "SimpWiki: English and Simple English Wikipedia",
        "cc-by-sa-3.0",
        url="https://cs.pomona.edu/~dkauchak/simplification/",
    )
    prepare_source(arguments, SimpwikiOptions, "prepare simpwiki", card)

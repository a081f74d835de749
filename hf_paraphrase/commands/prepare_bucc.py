"""`prepare bucc`: a BUCC 2017 set to a data folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..data.sources.bucc import BuccOptions
from ..settings import setting
from .arguments import parse
from .prepare_source import SourceArguments, SourceCard, prepare_source


@dataclass(kw_only=True)
class Arguments(SourceArguments):
    """Makes a data folder of BUCC 2017 for one language: the gold pairs, and the two sides to be mined."""

    data_dir: str = setting("the folder below which files such as fr-en.training.fr, .en and .gold lie")
    lang: str = setting("the foreign language", choices=["de", "fr", "ru", "zh"], names=["--lang", "--language"])


def main(argv: Sequence[str]) -> None:
    """Runs `prepare bucc`."""
    arguments = parse(Arguments, "prepare bucc", argv)
    card = SourceCard(
        "bucc",
        f"BUCC 2017 {arguments.lang}-en",
        None,
        (arguments.lang, "en"),
        tasks=("translation", "sentence-similarity"),
        tags=("bitext-mining",),
        url="https://comparable.limsi.fr/bucc2017/",
    )
    prepare_source(arguments, BuccOptions, "prepare bucc", card)

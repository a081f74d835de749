"""`prepare turku`: the Turku Paraphrase Corpus to a data folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..data.sources.turku import TurkuOptions
from ..settings import setting
from .arguments import parse
from .prepare_source import SourceArguments, SourceCard, prepare_source


@dataclass(kw_only=True)
class Arguments(SourceArguments):
    """Makes a data folder of the Turku Paraphrase Corpus (Kanerva et al. 2021): Finnish, or the Swedish test set."""

    data_dir: str = setting(
        "the folder below which train.json, dev.json, test.json, opus-pb-dev.json and "
        "opus-parsebank-sample-annotated.tsv lie, or some of them, plain or compressed"
    )
    lang: str = setting("the language", "fi", choices=["fi", "sv"], names=["--lang", "--language"])
    rewrites: bool = setting(
        "also make the configuration `rewrites` of the pairs as the annotators rewrote them", False
    )


def main(argv: Sequence[str]) -> None:
    """Runs `prepare turku`."""
    arguments = parse(Arguments, "prepare turku", argv)
    card = SourceCard(
        "turku",
        "Turku Paraphrase Corpus",
        "cc-by-sa-4.0",
        (arguments.lang,),
        url="https://github.com/TurkuNLP/Turku-paraphrase-corpus",
    )
    prepare_source(arguments, TurkuOptions, "prepare turku", card)

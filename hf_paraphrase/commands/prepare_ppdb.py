"""`prepare ppdb`: the Paraphrase Database to a data folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..data.languages import check_language
from ..data.sources.ppdb import PpdbOptions
from ..data.text_files import PLAIN_OR_COMPRESSED
from ..settings import setting
from .arguments import parse
from .prepare_source import SourceCard, TrainingSourceArguments, prepare_source


@dataclass(kw_only=True)
class Arguments(TrainingSourceArguments):
    """Makes a data folder of PPDB 1.0 or 2.0, any pack and size, its lexical lists, or its annotated sample."""

    file: list[str] = setting(f"one or more files, {PLAIN_OR_COMPRESSED}, read in their order")
    layout: str = setting(
        "rules: the database; lexical: a head and its paraphrases a line; annotated: the sample with human scores; "
        "auto: tell by the first line",
        "auto",
        choices=["auto", "rules", "lexical", "annotated"],
    )
    columns: list[str] = setting(
        "the features to keep, separated by spaces or commas, e.g. PPDB2.0Score AGigaSim; all by default", []
    )
    max_tokens: int = setting(
        "take pairs from the beginning until they have this many tokens, both sides together; 0 = all", 0
    )
    drop_identical: bool = setting("leave out pairs of which both sides are the same", False)
    lang: str = setting("language code of the phrases", "en", names=["--lang", "--language"])


def main(argv: Sequence[str]) -> None:
    """Runs `prepare ppdb`."""
    arguments = parse(Arguments, "prepare ppdb", argv)
    check_language(arguments.lang, "--lang")
    card = SourceCard(
        "ppdb",
        "PPDB: The Paraphrase Database",
        "cc-by-3.0",
        (arguments.lang,),
        url="http://paraphrase.org/",
    )
    prepare_source(arguments, PpdbOptions, "prepare ppdb", card)

"""`prepare SOURCE`: raw files to a Parquet data folder with a card."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import UsageError
from ..messages import show
from ..registry import SOURCES
from .arguments import parse
from .kinds import list_of_kinds


def main(argv: Sequence[str]) -> None:
    """Runs the verb.

    Raises:
        UsageError: Without a kind, or for an unknown one.
    """
    words = list(argv)
    if words and words[0] in {"-h", "--help"}:
        show(list_of_kinds("prepare", SOURCES))
        return
    if not words:
        raise UsageError("prepare: no kind of raw data", remedy=f"hf-paraphrase prepare {'|'.join(SOURCES)}")
    from ..data.sources.preparation import preparation

    recipe = preparation(words[0])
    recipe.run(parse(recipe.settings, f"prepare {words[0]}", words[1:]))

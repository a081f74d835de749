"""`prepare SOURCE`: raw files to a Parquet data folder with a card."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from ..errors import UsageError
from ..registry import SOURCES
from .arguments import parse


def main(argv: Sequence[str]) -> None:
    """Runs the verb.

    Raises:
        UsageError: Without a kind, or for an unknown one.
    """
    words = list(argv)
    if words and words[0] in {"-h", "--help"}:
        sys.stdout.write(_overview())
        return
    if not words:
        raise UsageError("prepare: no kind of raw data", remedy=f"hf-paraphrase prepare {'|'.join(SOURCES)}")
    from ..data.sources.preparation import preparation

    recipe = preparation(words[0])
    recipe.run(parse(recipe.settings, f"prepare {words[0]}", words[1:]))


def _overview() -> str:
    width = max(map(len, SOURCES))
    lines = [f"  {kind:{width}}  {SOURCES.summary(kind)}" for kind in SOURCES]
    usage = "usage: hf-paraphrase prepare <kind> [flags]"
    return "\n".join([usage, "", *lines, "", "hf-paraphrase prepare <kind> --help", ""])

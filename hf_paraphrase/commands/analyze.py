"""`analyze [KIND]`: reports with tables and plots; without a kind, on back-translated pairs."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import UsageError, choice_of
from ..messages import show
from ..registry import ANALYSES
from .arguments import parse
from .kinds import list_of_kinds


def main(argv: Sequence[str]) -> None:
    """Runs one kind of analysis.

    Raises:
        UsageError: For an unknown kind.
    """
    words = list(argv)
    if words and words[0] in {"-h", "--help"}:
        show(list_of_kinds("analyze", ANALYSES, "[kind, pairs by default]"))
        return
    # `analyze --pairs DIR` was there before there were kinds.
    kind = words.pop(0) if words and not words[0].startswith("-") else "pairs"
    if kind not in ANALYSES:
        raise UsageError(f"analyze: unknown kind `{kind}`", remedy=choice_of(kind, ANALYSES))
    recipe = ANALYSES[kind]
    recipe.run(parse(recipe.settings, f"analyze {kind}", words))

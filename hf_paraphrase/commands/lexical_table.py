"""`lexical-table`: how each source unit of a translation model is translated, estimated from bitext."""

from __future__ import annotations

from collections.abc import Sequence

from ..translation.lexical_table import LexicalTableSettings, estimate_lexical_table
from .arguments import parse


def main(argv: Sequence[str]) -> None:
    """Runs the verb."""
    estimate_lexical_table.run(parse(LexicalTableSettings, "lexical-table", argv))

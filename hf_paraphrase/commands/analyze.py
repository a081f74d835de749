"""`analyze [KIND]`: reports with tables and plots; without a kind, on back-translated pairs."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence

from ..errors import UsageError

PAIRS = "pairs"
KINDS = {
    PAIRS: "how translations differ from references (the kind where none is named)",
    "gates": "which words the gates of a GRAN let into the sentence",
    "neighbours": "the sentences nearest to some queries under several encoders, side by side",
    "similarities": "how the similarities of a sentence to all sentences of a text are distributed",
    "human-scores": "what encoders make of pairs that people scored: means, deviations, tests",
}


def main(argv: Sequence[str]) -> None:
    """Hands over to the module of one kind of analysis.

    Raises:
        UsageError: For an unknown kind.
    """
    words = list(argv)
    if words and words[0] in {"-h", "--help"}:
        width = max(map(len, KINDS))
        lines = [f"  {kind:{width}}  {text}" for kind, text in KINDS.items()]
        usage = ["usage: hf-paraphrase analyze [kind] [flags]", "", *lines, "", "hf-paraphrase analyze <kind> --help"]
        sys.stdout.write("\n".join(usage) + "\n")
        return
    # `analyze --pairs DIR` was there before there were kinds.
    kind = words.pop(0) if words and not words[0].startswith("-") else PAIRS
    if kind not in KINDS:
        raise UsageError(f"analyze: unknown kind `{kind}`", remedy=f"hf-paraphrase analyze {'|'.join(KINDS)}")
    importlib.import_module(f"..analyze_{kind.replace('-', '_')}", __name__).main(words)

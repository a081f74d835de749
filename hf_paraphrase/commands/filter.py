"""`filter`: selects paraphrase pairs by ranges over measures."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..filtering.filter import FilterSettings, filter_pairs
from .arguments import parse

_NEGATIVE_FIRST = re.compile(r"-[\d.][^-]*[<>=!]")


def main(argv: Sequence[str]) -> None:
    """Runs the verb."""
    # A space before it keeps argparse from taking `-5<=log_prob` for a flag.
    words = [f" {word}" if _NEGATIVE_FIRST.match(word) else word for word in argv]
    filter_pairs.run(parse(FilterSettings, "filter", words))

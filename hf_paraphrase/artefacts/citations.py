"""The papers that models and data sets come from, for their cards; the entries are in `papers.bib`."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from ..errors import HfParaphraseError


@cache
def _papers() -> dict[str, str]:
    entries = Path(__file__).with_name("papers.bib").read_text(encoding="utf-8").strip().split("\n\n")
    return {re.split("[{,]", entry, maxsplit=2)[1]: entry for entry in entries}


def bibtex(*keys: str) -> str:
    """Writes the BibTeX entries of some papers, each once, as one Markdown code block.

    Args:
        *keys: Keys as in the ACL Anthology, e.g. `wieting-etal-2017-learning`.

    Raises:
        HfParaphraseError: For an unknown key.
    """
    papers = _papers()
    for key in keys:
        if key not in papers:
            raise HfParaphraseError(f"no citation `{key}`", remedy=f"one of {', '.join(papers)}")
    return "```bibtex\n" + "\n\n".join(papers[key] for key in dict.fromkeys(keys)) + "\n```"

"""The table of the page for those who come from sentence-transformers."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "guide" / "migration.md"


def rows():
    """The code of both columns, a pair for each row."""
    found = []
    for line in PAGE.read_text("utf-8").splitlines():
        if line.startswith("| `"):
            theirs, ours = line.strip("| ").split(" | ")
            found.append((re.fullmatch("`(.*)`", theirs)[1], re.match("`(.*?)`", ours)[1]))
            if ours.endswith(", or as there"):
                found.append((found[-1][0], found[-1][0]))
    return found

"""The pages of the site; `scripts/build_docs.sh` checks every link."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_every_page_is_in_the_navigation():
    named = set(re.findall(r"[:-] ([\w/]+\.md)$", (ROOT / "mkdocs.yml").read_text("utf-8"), re.MULTILINE))
    pages = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    notebooks = {
        path.relative_to(ROOT / "docs").with_suffix(".md").as_posix() for path in (ROOT / "docs").rglob("*.ipynb")
    }
    assert pages | notebooks == named - {"index.md", "contributing.md"}

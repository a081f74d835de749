"""The notebooks in the repository; `scripts/build_docs.sh` runs them."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).resolve().parents[2] / "docs" / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_was_run_to_its_end_and_has_no_local_paths(path):
    text = path.read_text(encoding="utf-8")
    cells = json.loads(text)["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    assert not [output for cell in code for output in cell["outputs"] if output["output_type"] == "error"]
    for cell in code:
        ast.parse("".join(cell["source"]))
    assert not re.findall(r"/(?:tmp|root|home)/", text)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_becomes_a_page_with_its_text_code_and_output(path, load_script):
    pages = load_script("documentation/pages")
    page = pages.notebook_page(path)
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    for cell in cells:
        assert "".join(cell["source"]) in page
    shown = [pages.printed(cell) for cell in cells if cell["cell_type"] == "code"]
    assert sum(map(bool, shown)) >= 2 and all(text in page for text in shown)

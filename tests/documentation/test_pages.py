"""The pages of the site: every name and flag, executed notebooks, and a complete navigation."""

from __future__ import annotations

import ast
import dataclasses
import json
import re
from pathlib import Path

import pytest

import hf_paraphrase
from hf_paraphrase.commands.verbs import VERBS, all_recipes
from hf_paraphrase.settings import flag, option_of


@pytest.fixture
def pages(load_script):
    return load_script("documentation/pages")


def test_every_public_name_is_on_the_page_of_its_package(pages):
    names = {name for found in pages.public_names().values() for name in found}
    assert {name for name in hf_paraphrase.__all__ if not name.startswith("__")} <= names
    assert all(name in "".join(pages.python_pages().values()) for name in names)


def test_every_flag_of_every_verb_is_explained_on_its_page(pages):
    shown = {verb: pages.verb_page(verb, row) for verb, row in VERBS.items()}
    for typed, recipe in all_recipes().items():
        page = shown[typed.partition(" ")[0]]
        for field in dataclasses.fields(recipe.settings):
            option = option_of(field)
            name = option.names[0] if option.names else flag(field.name)
            assert option.help.strip() and re.search(rf"^  {name}\b", page, re.MULTILINE), typed


def test_the_page_of_a_command_has_an_example_and_the_types_of_its_flags(pages):
    without = {verb for verb, row in VERBS.items() if "```bash\nhf-paraphrase" not in pages.verb_page(verb, row)}
    assert without == {"quickstart"}
    page = pages.verb_page("encode", VERBS["encode"])
    assert all(line in page for line in ("--input PATH", "--batch-size INTEGER", "--prompt-name TEXT"))
    assert "hf_paraphrase.encode(input='sentences.txt', output='vectors.npy')" in pages.python_pages()["encoders"]


ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_was_run_to_its_end_has_no_local_paths_and_becomes_a_page_with_text_code_and_output(path, pages):
    text = path.read_text(encoding="utf-8")
    cells = json.loads(text)["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    assert not [output for cell in code for output in cell["outputs"] if output["output_type"] == "error"]
    for cell in code:
        ast.parse("".join(cell["source"]))
    assert not re.findall(r"/(?:tmp|root|home)/", text)
    page = pages.notebook_page(path)
    assert all("".join(cell["source"]) in page for cell in cells)
    shown = [pages.printed(cell) for cell in code]
    assert sum(map(bool, shown)) >= 2 and all(text in page for text in shown)


def test_every_page_is_in_the_navigation():
    named = set(re.findall(r"[:-] ([\w/.]+\.md)$", (ROOT / "mkdocs.yml").read_text("utf-8"), re.MULTILINE))
    sources = [*(ROOT / "docs").rglob("*.md"), *(ROOT / "docs").rglob("*.ipynb")]
    pages = {path.relative_to(ROOT / "docs").with_suffix(".md").as_posix() for path in sources}
    by_hooks = {page for page in pages if page.startswith("reference/")}
    assert pages - by_hooks == named - {"index.md", "contributing.md", "changelog.md"}

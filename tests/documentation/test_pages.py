"""The pages of the site: the reference needs docstrings, notebooks were run, and the navigation names every page."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import json
import re
from pathlib import Path

import pytest

from hf_paraphrase.commands.verbs import VERBS, all_recipes


@pytest.fixture
def pages(load_script):
    return load_script("documentation/pages")


def own_docstring(value):
    """The docstring of an object; the signature that a dataclass gets by default is no docstring."""
    text = (value.__doc__ or "").strip()
    return "" if text.startswith(f"{getattr(value, '__name__', '')}(") else text


def members(value):
    """The public functions and properties that the body of a class defines."""
    for name, member in vars(value).items():
        function = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
        if not name.startswith("_") and inspect.isfunction(function):
            yield name, function


def undocumented(name, value):
    """The names without documentation: the object, a member, or a parameter missing in an `Args` section."""
    if not own_docstring(value):
        yield name
    functions = [(name, value)] if inspect.isfunction(value) else []
    inner = [(f"{name}.{member}", function) for member, function in members(value)] if inspect.isclass(value) else []
    for path, function in [*functions, *inner]:
        text = own_docstring(function)
        if not text:
            yield path
        if not hasattr(function, "settings") and "\nArgs:" in inspect.cleandoc(text):
            named = set(re.findall(r"^ +\*{0,2}(\w+)(?: \([^)]*\))?:", text, re.MULTILINE))
            parameters = set(inspect.signature(function).parameters) - {"self", "cls"}
            yield from (f"{path}({parameter})" for parameter in sorted(parameters - named))


def test_every_public_object_has_a_docstring(pages):
    found = [
        f"hf_paraphrase.{package}: {missing}"
        for package, names in pages.public_names().items()
        for name, value in names.items()
        if inspect.isclass(value) or inspect.isfunction(value)
        for missing in undocumented(name, value)
    ]
    assert not found


def test_every_flag_of_every_verb_is_explained_on_its_page(pages):
    shown = {verb: pages.verb_page(verb, row) for verb, row in VERBS.items()}
    for typed, recipe in all_recipes().items():
        page = shown[typed.partition(" ")[0]]
        assert own_docstring(recipe.settings), recipe.settings
        for field in dataclasses.fields(recipe.settings):
            names = field.metadata.get("names") or [f"--{field.name.replace('_', '-')}"]
            assert field.metadata["help"].strip() and re.search(rf"^  {names[0]}\b", page, re.MULTILINE), typed


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


ROOT = Path(__file__).resolve().parents[2]


def test_every_page_is_in_the_navigation():
    named = set(re.findall(r"[:-] ([\w/]+\.md)$", (ROOT / "mkdocs.yml").read_text("utf-8"), re.MULTILINE))
    pages = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    notebooks = {
        path.relative_to(ROOT / "docs").with_suffix(".md").as_posix() for path in (ROOT / "docs").rglob("*.ipynb")
    }
    assert pages | notebooks == named - {"index.md", "contributing.md"}

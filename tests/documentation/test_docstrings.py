"""Everything public has a docstring: the generated reference is made from it."""

from __future__ import annotations

import dataclasses
import inspect
import re

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
    shown = pages.command_pages()
    assert set(shown) == set(VERBS)
    for typed, recipe in all_recipes().items():
        page = shown[typed.partition(" ")[0]]
        assert own_docstring(recipe.settings), recipe.settings
        for field in dataclasses.fields(recipe.settings):
            names = field.metadata.get("names") or [f"--{field.name.replace('_', '-')}"]
            assert field.metadata["help"].strip() and re.search(rf"^  {names[0]}\b", page, re.MULTILINE), typed

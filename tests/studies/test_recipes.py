"""What holds for the recipes of all studies."""

from __future__ import annotations

import importlib
import pkgutil

import pytest

import hf_paraphrase
from hf_paraphrase import studies
from hf_paraphrase.commands.verbs import all_recipes

PACKAGES = [package.name for package in pkgutil.iter_modules(studies.__path__) if package.ispkg]


@pytest.mark.parametrize("package", PACKAGES)
def test_public_names_are_no_modules_and_the_recipes_are_public_names_of_hf_paraphrase_too(package):
    study = importlib.import_module(f"hf_paraphrase.studies.{package}")
    # Importing the module would put it in the place of what is meant.
    assert not {module.name for module in pkgutil.iter_modules(study.__path__)} & set(study.__all__)
    recipes = [recipe for recipe in all_recipes().values() if recipe.__module__.startswith(f"{study.__name__}.")]
    assert recipes
    for recipe in recipes:
        if recipe.__name__ != "prepare_comparable":
            assert getattr(study, recipe.__name__) is recipe is getattr(hf_paraphrase, recipe.__name__)

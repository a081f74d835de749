"""What holds for the recipes of all studies."""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil

import pytest

import hf_paraphrase
from hf_paraphrase import studies
from hf_paraphrase.commands.verbs import ANALYSES
from hf_paraphrase.settings import Settings

RECIPES = {
    "analysis": ["analyze_pairs"],
    "detection": ["analyze_human_scores", "analyze_neighbours", "analyze_similarities"],
    "expansion": ["expand"],
    "gates": ["analyze_gates"],
    "mining": ["evaluate_mining", "mine", "train_bilingual_vectors", "train_parallel_classifier"],
    "sdae": ["train_sdae"],
    "supervised": ["predict", "train_supervised"],
}
PACKAGES = [package.name for package in pkgutil.iter_modules(studies.__path__) if package.ispkg]


def test_every_study_is_checked():
    assert sorted(RECIPES) == sorted(PACKAGES)
    kinds = {f"analyze_{kind.replace('-', '_')}" for kind in ANALYSES}
    assert kinds == {name for names in RECIPES.values() for name in names if name.startswith("analyze")}


@pytest.mark.parametrize("package", PACKAGES)
def test_no_public_name_of_a_package_is_the_name_of_one_of_its_modules(package):
    # Importing the module would put it in the place of what is meant.
    study = importlib.import_module(f"hf_paraphrase.studies.{package}")
    assert not {module.name for module in pkgutil.iter_modules(study.__path__)} & set(study.__all__)


@pytest.mark.parametrize(
    ("package", "name"), [(package, name) for package, names in RECIPES.items() for name in names]
)
def test_a_recipe_is_a_public_name_of_its_package_and_of_hf_paraphrase_with_documented_fields(package, name):
    recipe = getattr(importlib.import_module(f"hf_paraphrase.studies.{package}"), name)
    assert getattr(hf_paraphrase, name) is recipe and issubclass(recipe.settings, Settings)
    for field in dataclasses.fields(recipe.settings):
        assert field.metadata["help"] and f"\n    {field.name}: " in recipe.__doc__, field.name

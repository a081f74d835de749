"""What holds for the recipes of all studies."""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil

import pytest

import hf_paraphrase
from hf_paraphrase import studies
from hf_paraphrase.registry import ANALYSES
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
ROOMS = [room.name for room in pkgutil.iter_modules(studies.__path__)]


def test_every_study_is_looked_at():
    assert sorted(RECIPES) == sorted(ROOMS)
    kinds = {f"analyze_{kind.replace('-', '_')}" for kind in ANALYSES}
    assert kinds == {name for names in RECIPES.values() for name in names if name.startswith("analyze")}


@pytest.mark.parametrize("room", ROOMS)
def test_no_public_name_of_a_room_is_the_name_of_one_of_its_modules(room):
    # Importing the module would put it in the place of what is meant.
    package = importlib.import_module(f"hf_paraphrase.studies.{room}")
    assert not {module.name for module in pkgutil.iter_modules(package.__path__)} & set(package.__all__)


@pytest.mark.parametrize(("room", "name"), [(room, name) for room, names in RECIPES.items() for name in names])
def test_a_recipe_is_a_public_name_of_its_room_and_of_the_package_with_documented_fields(room, name):
    recipe = getattr(importlib.import_module(f"hf_paraphrase.studies.{room}"), name)
    assert getattr(hf_paraphrase, name) is recipe and issubclass(recipe.settings, Settings)
    for field in dataclasses.fields(recipe.settings):
        assert field.metadata["help"] and f"\n    {field.name}: " in recipe.__doc__, field.name

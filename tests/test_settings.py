"""Options that are declared once: their checks, recipes, and outputs that overlap inputs."""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
import pytest

from hf_paraphrase import messages, registry
from hf_paraphrase.errors import HfParaphraseError, OutputError, UsageError
from hf_paraphrase.registry import Registry
from hf_paraphrase.settings import Settings, check_overlap, recipe, setting

KINDS = Registry("kind", {"plain": "collections:OrderedDict"})


@dataclass(kw_only=True)
class Baking(Settings):
    """Bake something."""

    flour: str = setting("the flour, a file", path=True)
    kind: str = setting("the kind of bread", "plain", choices=KINDS)
    grams: float = setting("weight in grams", 500.0, above=0, at_most=5_000)
    share: float | None = setting("share of rye", None, at_least=0, below=1)
    loaves: int = setting("how many", 1, at_least=1)
    salt: float = setting("grams of salt", 9.0)
    seeds: list[str] = setting("what goes on top", [], choices=("poppy", "sesame"))
    hours: list[int] = setting("when to fold", [1, 2])
    sourdough: bool = setting("no yeast", False)
    days: int | None = setting("age of the starter in days", None, at_least=1, only_with={"sourdough": True})
    glaze: str | None = setting("on the seeds", None, only_with="seeds")
    scored: bool = setting("cut the top", True, only_with={"kind": "rye"}, excludes="glaze")
    yeast: float = setting("grams of yeast", 7.0, above=0, excludes="sourdough", formerly="dry_yeast")


@recipe(Baking)
def bake(settings: Baking) -> str:
    """Bakes bread."""
    return f"{settings.loaves} of {settings.flour}"


# ----- names


def test_a_former_name_of_a_field_works_and_warns_once(recwarn, monkeypatch):
    monkeypatch.setattr(messages, "_WARNED", set())
    for _ in range(2):
        with pytest.raises(UsageError, match="--yeast must be above 0, not -1"):
            bake(flour="rye", dry_yeast=-1.0)
    (warning,) = recwarn.list
    assert issubclass(warning.category, FutureWarning) and "`dry_yeast=` is deprecated" in str(warning.message)
    assert warning.filename == __file__


def test_former_public_names_lead_to_the_new_ones_and_warn_once(recwarn, monkeypatch):
    monkeypatch.setattr(messages, "_WARNED", set())
    for former, name in registry.RENAMED.items():
        package, _, former_name = former.rpartition(".")
        monkeypatch.setattr(messages, "_WARNED", set())
        recwarn.clear()
        assert getattr(importlib.import_module(package), former_name) is pkgutil.resolve_name(name)
        assert getattr(importlib.import_module(package), former_name)
        (warning,) = recwarn.list
        assert f"use `{name}`" in str(warning.message) and warning.filename == __file__


# ----- values


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"grams": 0}, "--grams must be above 0 and at most 5000, not 0"),
        ({"salt": float("nan")}, "--salt must be a finite number, not nan"),
        ({"share": 1.0}, "--share must be at least 0 and below 1, not 1.0"),
        ({"kind": "plian"}, "--kind `plian` is unknown (did you mean plain? One of plain)"),
        ({"seeds": ["poppy", "sand"]}, "--seeds `sand` is unknown (one of poppy, sesame)"),
        ({"hours": []}, "--hours is empty (give it a value, or leave it out)"),
        ({"flour": ""}, "--flour is empty"),
        ({"days": 3}, "--days is for --sourdough true (give that too, or leave it out)"),
        ({"glaze": "milk"}, "--glaze is for --seeds (give that too, or leave it out)"),
        ({"yeast": 3.0, "sourdough": True}, "--yeast and --sourdough exclude each other (leave one of them out)"),
        ({"scored": False}, "--no-scored is for --kind rye (give that too, or leave it out)"),
        ({"loaves": "2"}, "--loaves is '2', of another type than int (give one of that type)"),
        ({"hours": [1, True]}, "--hours is [1, True], of another type than list[int] (give one of that type)"),
    ],
)
def test_a_value_that_does_not_fit_is_refused(fields, problem):
    with pytest.raises(UsageError) as refused:
        bake(**{"flour": "rye", **fields})
    assert str(refused.value).startswith(problem)
    assert isinstance(refused.value, HfParaphraseError) and isinstance(refused.value, ValueError)


@pytest.mark.parametrize(
    ("given", "plain"),
    [
        ({"loaves": np.int64(2), "grams": np.float32(2.5)}, {"loaves": 2, "grams": 2.5}),
        ({"seeds": np.array(["poppy", "sesame"])}, {"seeds": ["poppy", "sesame"]}),
        ({"seeds": ("poppy",), "hours": [np.int32(3)]}, {"seeds": ["poppy"], "hours": [3]}),
        ({"seeds": Path("poppy"), "hours": 3}, {"seeds": ["poppy"], "hours": [3]}),
        # The name of a model in the package is a text, so that a path object is a folder.
        ({"flour": Path("builtin")}, {"flour": "./builtin"}),
    ],
)
def test_values_of_numpy_path_objects_and_one_value_for_a_list_become_plain_ones(given, plain):
    settings = Baking(**{"flour": "rye", **given})
    settings.check()
    assert {name: getattr(settings, name) for name in plain} == plain
    assert [type(getattr(settings, name)) for name in plain] == [type(value) for value in plain.values()]
    json.dumps(settings.record())


def test_the_record_has_what_determines_the_output_without_credentials():
    @dataclass(kw_only=True)
    class Run(Baking):
        overwrite: bool = setting("replace", False)
        resume: bool = setting("go on", False)

    assert Run(flour="rye", overwrite=True).record() == Run(flour="rye", resume=True).record()
    assert Run(flour="hf_" + "a1B2" * 8).record()["flour"] == "<token>"


# ----- recipes


def test_a_recipe_shows_the_fields_with_their_defaults_and_help_like_any_function():
    signature = inspect.signature(bake)
    assert list(signature.parameters) == [field.name for field in fields(Baking)]
    assert signature.parameters["grams"].default == 500.0 and signature.return_annotation == "str"
    text = bake.__doc__
    assert text.index("Bakes bread.") < text.index("Args:") < text.index("    grams: weight in grams")
    assert bake.__name__ == "bake"


@dataclass
class Nuts:
    nuts: int = setting("how many nuts", 0, at_least=0)


def test_options_of_what_is_registered_are_fields_of_a_recipe_also_after_it_was_made():
    toppings = Registry("topping", {"nuts": f"{__name__}:Nuts"})

    @recipe(Baking, toppings)
    def top(settings):
        return settings

    assert "nuts" in inspect.signature(top).parameters and top(flour="rye", nuts=3).record()["nuts"] == 3
    with pytest.raises(TypeError, match="olives"):
        top(flour="rye", olives=1)

    @toppings.register("olives")
    @dataclass
    class Olives:
        olives: int = setting("how many olives", 0, at_least=0)

    assert top(flour="rye", olives=1).olives == 1
    with pytest.raises(UsageError, match="--olives must be at least 0, not -1"):
        top(flour="rye", olives=-1)


# ----- outputs and inputs


@pytest.fixture
def work(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "par" / "pairs" / "data").mkdir(parents=True)
    (tmp_path / "par" / "pairs" / "provenance.json").write_text("{}")
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw" / "fr-en.test.fr").write_text("un\n")
    (tmp_path / "link").symlink_to("par/pairs")
    (tmp_path / "par" / "shortcut").symlink_to("../raw")
    return tmp_path


@pytest.mark.parametrize(
    ("output", "given", "relation"),
    [
        ("par/../par/pairs", "par/pairs/", "is"),
        ("link", "par/pairs", "is"),
        ("link/scored", "par/pairs", "is inside"),
        ("par/pairs/data/new", "par/pairs", "is inside"),
        # The link would go, if not what it leads to.
        ("par", "par/shortcut", "contains"),
        ("par", "mine=par/pairs", "contains"),
        ("par", "raw:par/pairs", "contains"),
    ],
)
def test_an_output_that_is_or_contains_or_is_inside_of_an_input_is_refused(work, output, given, relation):
    with pytest.raises(OutputError, match=f"the output {relation} the input of --pairs"):
        check_overlap([output], [("the input of --pairs", given)])


def test_an_output_beside_the_inputs_or_in_a_folder_of_raw_data_is_allowed(work):
    (work / "builtin.npy").write_bytes(b"")
    given = {"par/pairs2": "par/pairs", "raw/prepared": "raw", "out": "x" * 5000, "builtin.npy": "builtin"}
    for output, path in given.items():
        check_overlap([output], [("the input of --pairs", path)])


@pytest.mark.parametrize(
    ("outputs", "problem"),
    [
        (["scores.json", "./scores.json"], "is another output"),
        (["raw/new", "raw"], "contains another output"),
        # Also where the first is not there yet, which would later be in the way of itself.
        (["new", "new/vectors"], "is inside another output"),
        (["cached::s3://b/o"], "is a URL"),
    ],
)
def test_outputs_must_not_overlap_and_none_may_be_a_url(work, outputs, problem):
    with pytest.raises(OutputError, match=f"the output {problem}"):
        check_overlap(outputs, [])
    check_overlap(["a.json", "b.json", "of:two/parts", "C:/out"], [])


def test_a_wrong_argument_is_reported_under_the_name_of_the_function():
    with pytest.raises(TypeError, match=r"^bake\(\) got an unexpected keyword argument 'flower'"):
        bake(flour="rye", flower="rose")
    with pytest.raises(TypeError, match=r"^bake\(\) missing a required .*'flour'"):
        bake()

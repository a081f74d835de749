"""Options that are declared once: their checks, their values in YAML, recipes, and outputs that overlap inputs."""

from __future__ import annotations

import inspect
import json
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from hf_paraphrase.errors import HfParaphraseError, InputError, OutputError, UsageError
from hf_paraphrase.registry import MEASURES, Registry
from hf_paraphrase.settings import (
    Settings,
    check_fields,
    check_overlap,
    recipe,
    setting,
    values_from_file,
    with_options,
    words_of,
)

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
    yeast: float = setting("grams of yeast", 7.0, above=0, excludes="sourdough")


@recipe(Baking)
def bake(settings: Baking) -> str:
    """Bakes bread."""
    return f"{settings.loaves} of {settings.flour}"


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
        ({"flour": ""}, "--flour is empty (give it a value, or leave it out)"),
        ({"days": 3}, "--days is for --sourdough true (give that too, or leave it out)"),
        ({"glaze": "milk"}, "--glaze is for --seeds (give that too, or leave it out)"),
        ({"yeast": 3.0, "sourdough": True}, "--yeast and --sourdough exclude each other (leave one of them out)"),
        ({"loaves": "2"}, "--loaves is '2', of another type than int (give one of that type)"),
        ({"sourdough": 1}, "--sourdough is 1, of another type than bool (give one of that type)"),
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
        ({"loaves": np.int64(2)}, {"loaves": 2}),
        ({"grams": np.float32(2.5)}, {"grams": 2.5}),
        ({"seeds": np.array(["poppy", "sesame"])}, {"seeds": ["poppy", "sesame"]}),
        ({"seeds": ("poppy",), "hours": [np.int32(3)]}, {"seeds": ["poppy"], "hours": [3]}),
        ({"seeds": Path("poppy"), "hours": 3}, {"seeds": ["poppy"], "hours": [3]}),
        # The name of a model in the package is a text, so that a path object is a folder.
        ({"flour": Path("builtin")}, {"flour": "./builtin"}),
    ],
)
def test_values_of_numpy_path_objects_and_one_value_for_a_list_become_plain_ones(given, plain):
    settings = Baking(**{"flour": "rye", **given})
    check_fields(settings)
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
    assert list(signature.parameters) == list(Baking.__dataclass_fields__)
    assert signature.parameters["grams"].default == 500.0 and signature.return_annotation == "str"
    text = bake.__doc__
    assert text.index("Bakes bread.") < text.index("Args:") < text.index("    grams: weight in grams")
    assert bake.__name__ == "bake"
    with pytest.raises(TypeError):
        bake()


@dataclass
class Nuts:
    nuts: int = setting("how many nuts", 0, at_least=0)


@dataclass
class Olives:
    olives: int = setting("how many olives", 0, at_least=0)


def test_options_of_what_is_registered_are_fields_of_a_recipe_also_after_it_was_made():
    toppings = Registry("topping", {"nuts": f"{__name__}:Nuts"})

    @recipe(partial(with_options, Baking, toppings))
    def top(settings):
        return settings

    assert "nuts" in inspect.signature(top).parameters and top(flour="rye", nuts=3).record()["nuts"] == 3
    with pytest.raises(TypeError, match="olives"):
        top(flour="rye", olives=1)
    toppings.register("olives")(Olives)
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
    for name in (output, work / output):
        with pytest.raises(OutputError, match=f"the output {relation} the input of --pairs"):
            check_overlap([name], [("the input of --pairs", given)])


@pytest.mark.parametrize(
    ("output", "given"),
    [
        ("par/pairs2", "par/pairs"),
        ("raw/prepared", "raw"),
        ("org/name", "org/name"),
        ("out", "x" * 5000),
        ("builtin.npy", "builtin"),
    ],
)
def test_an_output_beside_the_inputs_or_in_a_folder_of_raw_data_is_allowed(work, output, given):
    (work / "builtin.npy").write_bytes(b"")
    check_overlap([output], [("the input of --pairs", given)])


@pytest.mark.parametrize(
    ("outputs", "problem"),
    [
        (["scores.json", "./scores.json"], "is another output"),
        (["raw/new", "raw"], "contains another output"),
        # Also where the first is not there yet, which would later be in the way of itself.
        (["new", "new/vectors"], "is inside another output"),
        (["s3://bucket/out"], "is a URL"),
        (["cached::s3://b/o"], "is a URL"),
    ],
)
def test_outputs_must_not_overlap_and_none_may_be_a_url(work, outputs, problem):
    with pytest.raises(OutputError, match=f"the output {problem}"):
        check_overlap(outputs, [])
    check_overlap(["a.json", "b.json", "of:two/parts", "C:/out"], [])


# ----- YAML


@dataclass(kw_only=True)
class Walk(Settings):
    where: str = setting("where to", "")
    speed: float = setting("in km/h", 4.0, names=["--speed", "--pace"])
    days: list[int] = setting("which days", [])
    dog: bool | None = setting("with the dog", None)
    names: str = setting("who comes", "", separator=",")


def read(tmp_path, text, **given):
    (tmp_path / "walk.yaml").write_bytes(text.encode("utf-8", "surrogateescape"))
    return Walk(**{**values_from_file(Walk, tmp_path / "walk.yaml"), **given})


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("where: 7\npace: 1e1\ndays: [1, '2']\ndog: 'yes'\nnames: [a, b]", {}),
        ("where: a\ndays: 3\ndog: null\nspeed: ~", {"where": "a", "days": [3]}),
        # The language of Norway, and what YAML 1.1 takes for a truth value, a number of minutes, octal and a date.
        ("where: no\ndog: no", {"where": "no", "dog": False}),
        ("where: 010\ndays: 010", {"where": "010", "days": [10]}),
    ],
)
def test_values_of_a_file_are_read_as_those_of_flags(tmp_path, text, fields):
    fields = fields or {"where": "7", "speed": 10.0, "days": [1, 2], "dog": True, "names": "a,b"}
    assert read(tmp_path, text) == Walk(**fields)
    assert read(tmp_path, text, where="b", speed=5.0) == Walk(**{**fields, "where": "b", "speed": 5.0})


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("when: now\n", "unknown setting `when` (did you mean where? One of days, dog, names, speed, where)"),
        ("where: {a: b}\n", "`where` is {'a': 'b'}, of another type than str"),
        ("where: !!python/object/apply:os.getcwd []\n", "`where` is [], of another type than str"),
        ("where: a\ndog: perhaps\n", "`dog` is 'perhaps', of another type than bool | None"),
    ],
)
def test_what_does_not_fit_is_named_with_the_file(tmp_path, text, problem):
    with pytest.raises(UsageError) as refused:
        read(tmp_path, text)
    assert str(refused.value) == f"{tmp_path / 'walk.yaml'}: {problem}"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("- a\n", "must be a mapping"),
        ("a: [", "not a readable YAML file"),
        ("where: " + "[" * 1_500, "not a readable YAML file"),
        ("where: \udcff", "not a readable YAML file"),
    ],
    ids=range(4),
)
def test_a_damaged_file_of_settings_is_one_line_with_its_name(tmp_path, text, problem):
    with pytest.raises(InputError, match=problem) as refused:
        read(tmp_path, text)
    assert str(refused.value).startswith(str(tmp_path / "walk.yaml")) and "\n" not in str(refused.value)


def test_a_wrong_argument_is_reported_under_the_name_of_the_function():
    with pytest.raises(TypeError, match=r"^bake\(\) got an unexpected keyword argument 'flower'"):
        bake(flour="rye", flower="rose")
    with pytest.raises(TypeError, match=r"^bake\(\) missing a required .*'flour'"):
        bake()


def test_names_are_parted_by_commas_or_spaces_and_unknown_ones_are_refused():
    assert words_of(["length,bleu", "overlap"], MEASURES, "--measures") == ["length", "bleu", "overlap"]
    with pytest.raises(UsageError, match="--measures: unknown bleo"):
        words_of(["length", "bleo"], MEASURES, "--measures")

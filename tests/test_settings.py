from __future__ import annotations

import inspect
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

import hf_paraphrase
from hf_paraphrase.commands.arguments import parse
from hf_paraphrase.errors import HfParaphraseError, UsageError
from hf_paraphrase.registry import Registry
from hf_paraphrase.settings import Settings, check_fields, recipe, setting, with_options

KINDS = Registry("kind", {"plain": "collections:OrderedDict"})


@dataclass(kw_only=True)
class Baking(Settings):
    """Bake something."""

    flour: str = setting("the flour, a file")
    kind: str = setting("the kind of bread", "plain", choices=KINDS)
    grams: float = setting("weight in grams", 500.0, above=0, at_most=5_000)
    share: float | None = setting("share of rye", None, at_least=0, below=1)
    loaves: int = setting("how many", 1, at_least=1)
    seeds: list[str] = setting("what goes on top", [], choices=("poppy", "sesame"))
    sourdough: bool = setting("no yeast", False)
    days: int | None = setting("age of the starter in days", None, at_least=1, only_with={"sourdough": True})
    glaze: str | None = setting("on the seeds", None, only_with="seeds")
    yeast: float = setting("grams of yeast", 7.0, above=0, excludes="sourdough")


@recipe(Baking)
def bake(settings: Baking) -> str:
    """Bakes bread.

    Returns:
        What came out.

    Raises:
        InputError: If the oven is cold.
    """
    return f"{settings.loaves} of {settings.flour}"


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"grams": 0}, "--grams must be above 0 and at most 5000, not 0"),
        ({"grams": 6_000.0}, "--grams must be above 0 and at most 5000, not 6000.0"),
        ({"grams": float("nan")}, "--grams must be above 0 and at most 5000, not nan"),
        ({"grams": float("inf")}, "--grams must be above 0 and at most 5000, not inf"),
        ({"share": 1.0}, "--share must be at least 0 and below 1, not 1.0"),
        ({"loaves": 0}, "--loaves must be at least 1, not 0"),
        ({"kind": "flat"}, "--kind `flat` is unknown (one of plain)"),
        ({"seeds": ["poppy", "sand"]}, "--seeds `sand` is unknown (one of poppy, sesame)"),
        ({"days": 3}, "--days is for --sourdough true (give that too, or leave it out)"),
        ({"days": 0, "sourdough": True}, "--days must be at least 1, not 0"),
        ({"glaze": "milk"}, "--glaze is for --seeds (give that too, or leave it out)"),
        ({"yeast": 3.0, "sourdough": True}, "--yeast and --sourdough exclude each other (leave one of them out)"),
        ({"loaves": "two"}, "--loaves is 'two', of another type than int (give one of that type)"),
        ({"loaves": True}, "--loaves is True, of another type than int (give one of that type)"),
        ({"seeds": "sand"}, "--seeds `sand` is unknown (one of poppy, sesame)"),
        ({"share": "half"}, "--share is 'half', of another type than float | None (give one of that type)"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_from_python_and_by_the_command_line_alike(fields, problem):
    with pytest.raises(UsageError) as refused:
        bake(flour="rye", **fields)
    assert str(refused.value) == problem
    assert isinstance(refused.value, HfParaphraseError) and isinstance(refused.value, ValueError)
    if isinstance(fields.get("loaves"), str | bool) or isinstance(fields.get("seeds", fields.get("share")), str):
        return  # the command line has other words for what has no type yet
    words = ["--flour", "rye"]
    for name, value in fields.items():
        words += [f"--{name}", *map(str, value if isinstance(value, list) else [value])]
    if {"kind", "seeds"} & fields.keys():
        with pytest.raises(UsageError, match=r"invalid choice: '(flat|sand)'"):
            parse(Baking, "bake", words)
        return
    with pytest.raises(UsageError) as refused:
        bake.run(parse(Baking, "bake", words))
    assert str(refused.value).partition(", not")[0] == problem.partition(", not")[0]


def test_text_that_is_no_unicode_is_refused_where_it_names_nothing_that_is_there():
    @dataclass
    class Asked(Settings):
        query: list[str] = setting("what is asked", [])
        corpus: str = setting("a file", "")
        output: str = setting("a file that is made", "")

    Asked(query=["sand \U0001f35e"], corpus="\udcff", output="\U0001f35e").check()
    with pytest.raises(UsageError, match="--query is no text in UTF-8"):
        Asked(query=["rye", "\udcff"]).check()
    # The libraries that write it refuse it, some of them after hours.
    with pytest.raises(UsageError, match="--output is no text in UTF-8"):
        Asked(output="\udcff").check()


def test_values_at_the_bounds_path_objects_and_one_value_for_a_list_fit():
    assert (
        bake(flour=Path("rye"), seeds=[Path("poppy")], glaze="egg")
        == bake(flour="rye", seeds=("poppy",))
        == "1 of rye"
    )
    assert bake(flour=Path("rye"), grams=5_000, share=0, days=1, sourdough=True, seeds=["poppy"], glaze="egg") == (
        "1 of rye"
    )


def test_a_recipe_shows_the_fields_with_their_defaults_and_help_like_any_function():
    signature = inspect.signature(bake)
    assert list(signature.parameters) == list(Baking.__dataclass_fields__)
    assert signature.parameters["grams"].default == 500.0 and signature.return_annotation == "str"
    text = bake.__doc__
    assert text.index("Bakes bread.") < text.index("    grams: weight in grams") < text.index("Returns:")
    assert text.index("Returns:") < text.index("Raises:") and bake.__name__ == "bake"
    with pytest.raises(TypeError):
        bake()
    with pytest.raises(TypeError):
        bake(flour="rye", flower="rose")


@pytest.mark.parametrize("given", ["", ["rye", ""]])
def test_an_empty_name_is_not_taken_for_the_current_folder(given):
    @dataclass
    class Reading(Settings):
        files: list[str] = setting("what is read", [])
        model: str = setting("what is opened", "builtin")
        output: str | None = setting("what is made", None)
        text: str = setting("what need not be given", "")

    check_fields(Reading(files=["."]))
    with pytest.raises(UsageError, match=r"^--files is empty \(give it a value, or leave it out\)$"):
        check_fields(Reading(files=given))
    for name in ("model", "output"):
        with pytest.raises(UsageError, match=rf"^--{name} is empty"):
            check_fields(Reading(**{name: ""}))


def test_what_a_user_registers_becomes_a_choice(monkeypatch):
    monkeypatch.setattr(KINDS, "_entries", dict(KINDS._entries))
    KINDS.register("flat")(dict)
    assert bake(flour="rye", kind="flat") == "1 of rye"
    assert parse(Baking, "bake", ["--flour", "rye", "--kind", "flat"]).kind == "flat"


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


def test_a_call_with_a_misspelt_option_names_the_nearest_one():
    with pytest.raises(TypeError, match=r"filter_pairs\(\) has no option `outptu`: did you mean `output`\?"):
        hf_paraphrase.filter_pairs(pairs="pairs", outptu="kept")
    with pytest.raises(TypeError, match=r"filter_pairs\(\) has no option `colour`$"):
        hf_paraphrase.filter_pairs(pairs="pairs", colour="red")

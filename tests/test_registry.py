from __future__ import annotations

import collections
import sys

import pytest

from hf_paraphrase import registry
from hf_paraphrase.commands import main
from hf_paraphrase.errors import InputError, UsageError
from hf_paraphrase.registry import Registry, import_file

ALL = {name: value for name, value in vars(registry).items() if isinstance(value, Registry)}


def new():
    return Registry("dish", {"soup": "collections:OrderedDict", "salad": "collections:deque"})


def test_an_entry_is_imported_when_it_is_asked_for():
    dishes = Registry("dish", {"soup": "collections:OrderedDict", "broken": "no_such_module:Name"})
    assert list(dishes) == ["soup", "broken"] and "broken" in dishes and len(dishes) == 2
    assert dishes["soup"] is collections.OrderedDict
    with pytest.raises(ModuleNotFoundError):
        dishes["broken"]


def test_an_unknown_name_is_answered_with_the_nearest_one():
    with pytest.raises(UsageError, match=r"there is no dish `sope` \(did you mean soup\? One of soup, salad\)"):
        new()["sope"]
    with pytest.raises(UsageError, match=r"there is no dish `xyz` \(one of soup, salad\)"):
        new()["xyz"]


def test_a_name_is_given_once_but_a_file_may_be_imported_again():
    dishes = new()

    @dishes.register("stew")
    class Stew: ...

    first = Stew

    @dishes.register("stew")
    class Stew: ...

    assert dishes["stew"] is Stew and Stew is not first
    with pytest.raises(UsageError, match="there is a dish `stew` already"):
        dishes.register("stew")(dict)
    with pytest.raises(UsageError, match="there is a dish `soup` already"):
        dishes.register("soup")(dict)


@pytest.mark.parametrize("name", ALL)
def test_every_line_of_the_registries_leads_to_something(name):
    for entry in ALL[name]:
        assert ALL[name][entry] is not None


DISHES = '''
class Soup:
    SUMMARY: str = (
        "of water "
        "and salt"
    )


class Stew(Soup):
    "With more in it."


class Salad:
    SUMMARY = f"{1 + 1} leaves"


class Bread:
    """Baked.

    For an hour.
    """


def tea():
    """Water, heated.

    Returns:
        A cup.
    """


coffee = tea
'''


def test_a_summary_is_read_from_the_source_and_is_what_the_object_says(tmp_path, monkeypatch):
    (tmp_path / "dishes.py").write_text(DISHES)
    monkeypatch.syspath_prepend(tmp_path)
    said = {
        "Soup": "of water and salt",
        "tea": "Water, heated.",
        "Stew": "of water and salt",
        "Salad": "2 leaves",
        "Bread": "Baked.",
        "coffee": "Water, heated.",
    }
    dishes = Registry("dish", {name: f"dishes:{name}" for name in said})
    for name in ("Soup", "tea"):
        assert dishes.summary(name) == said[name]
    # Only of the others does the source not tell plainly.
    assert dishes.states("Soup", "SUMMARY") and not dishes.states("Bread", "SUMMARY")
    assert "dishes" not in sys.modules
    for _ in range(2):
        assert {name: dishes.summary(name) for name in dishes} == said
        assert len({dishes[name] for name in dishes}) == 5  # which imports them all
    del sys.modules["dishes"]


@pytest.mark.parametrize(("name", "place"), list(registry.SOURCES._entries.items()))
def test_the_summary_of_a_source_is_the_same_before_and_after_its_import(name, place):
    if not isinstance(place, str):
        place = f"{place.__module__}:{place.__name__}"
    sources = Registry("source", {name: place})
    stated = sources.summary(name)
    assert stated == (getattr(sources[name], "SUMMARY", "") or sources[name].__doc__.partition("\n")[0]) != ""


def test_a_file_of_the_user_that_fails_is_one_line_and_is_forgotten(tmp_path, capsys):
    bad = tmp_path / "bad.py"
    bad.write_text("1 / 0\n")
    with pytest.raises(InputError, match=r"bad.py: cannot be imported: ZeroDivisionError: division by zero"):
        import_file(bad)
    assert "hf_paraphrase_import.bad" not in sys.modules
    with pytest.raises(InputError, match="no such file"):
        import_file(tmp_path / "missing.py")
    (tmp_path / "text.txt").write_text("")
    with pytest.raises(InputError, match=r"ends in \.py"):
        import_file(tmp_path / "text.txt")
    assert main(["--import", str(bad), "env"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert main(["--import"]) == 2
    assert "--import names no file" in capsys.readouterr().err


def test_a_file_of_the_user_runs_before_the_verb(tmp_path, capsys):
    (tmp_path / "mine.py").write_text("import sys\nsys.stdout.write('imported\\n')\n")
    assert main(["--import", str(tmp_path / "mine.py"), f"--import={tmp_path / 'mine.py'}", "--version"]) == 0
    assert capsys.readouterr().out.startswith("imported\nimported\nhf-paraphrase ")

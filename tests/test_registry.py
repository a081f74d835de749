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
    with pytest.raises(UsageError, match=r"there is no dish `sope` \(did you mean soup\? One of soup, broken\)"):
        dishes["sope"]


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


def test_every_line_of_the_registries_leads_to_something_with_a_summary():
    for known in ALL.values():
        assert all(known[name] is not None and known.summary(name) for name in known)


def test_a_file_of_the_user_that_fails_is_one_line_and_is_forgotten(tmp_path, capsys):
    bad = tmp_path / "bad.py"
    bad.write_text("1 / 0\n")
    with pytest.raises(InputError, match=r"bad.py: cannot be imported: ZeroDivisionError: division by zero"):
        import_file(bad)
    assert "hf_paraphrase_import.bad" not in sys.modules
    (tmp_path / "text.txt").write_text("")
    with pytest.raises(InputError, match=r"not a Python file .*ends in \.py"):
        import_file(tmp_path / "text.txt")
    assert main(["--import", str(bad), "env"]) == 2
    assert capsys.readouterr().err.count("\n") == 1

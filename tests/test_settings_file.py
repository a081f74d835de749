from __future__ import annotations

from dataclasses import dataclass

import pytest

from hf_paraphrase.errors import InputError, UsageError
from hf_paraphrase.settings import Settings, setting
from hf_paraphrase.settings_file import settings_from_file


@dataclass(kw_only=True)
class Walk(Settings):
    where: str = setting("where to")
    speed: float = setting("in km/h", 4.0, names=["--speed", "--pace"])
    days: list[int] = setting("which days", [])
    dog: bool | None = setting("with the dog", None)
    names: str = setting("who comes", "", separator=",")


def read(tmp_path, text, **given):
    (tmp_path / "walk.yaml").write_bytes(text.encode("utf-8", "surrogateescape"))
    return settings_from_file(Walk, tmp_path / "walk.yaml", **given)


def test_values_become_those_of_the_fields_as_those_of_flags_would(tmp_path):
    walk = read(tmp_path, "where: 7\npace: 1e1\ndays: [1, '2']\ndog: 'yes'\nnames: [a, b]\n")
    assert walk == Walk(where="7", speed=10.0, days=[1, 2], dog=True, names="a,b")
    # The language of Norway, and a flag.
    assert read(tmp_path, "where: no\ndog: no\n") == Walk(where="no", dog=False)
    assert read(tmp_path, "where: yes\ndog: on\n") == Walk(where="yes", dog=True)
    assert read(tmp_path, "where: a\ndays: 3\ndog: null\n") == Walk(where="a", days=[3])
    assert read(tmp_path, "where: a\nspeed: 3\n", speed=5.0, where="b") == Walk(where="b", speed=5.0)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("when: now\n", "unknown setting `when` (one of days, dog, names, speed, where)"),
        ("pace: 1\nspeed: 2\n", "`pace` and `speed` are one setting (give one of the two)"),
        ("where: {a: b}\n", "`where` is a mapping (give one value, or a list of values)"),
        ("where: a\nspeed: fast\n", "`speed` is 'fast', of another type than <class 'float'>"),
        ("where: a\ndog: perhaps\n", "`dog` is 'perhaps', of another type than bool | None"),
    ],
)
def test_what_does_not_fit_is_said_with_the_file(tmp_path, text, problem):
    with pytest.raises(UsageError) as refused:
        read(tmp_path, text)
    assert str(refused.value) == f"{tmp_path / 'walk.yaml'}: {problem}"


@pytest.mark.parametrize("value", ["[[a]]", "[{a: b}]", "[null]", "&a [b, *a]"])
def test_lists_of_other_things_than_values_are_refused(tmp_path, value):
    with pytest.raises(UsageError, match="`where` is a list of lists, or of nothing"):
        read(tmp_path, f"where: {value}\n")


def test_dates_are_what_they_are_spelt_as(tmp_path):
    assert read(tmp_path, "where: 2026-11-22\n").where == "2026-11-22"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("- a\n", "must be a mapping"),
        ("a: [", "not a YAML file"),
        ("where: 2026-13-45\n", "not a YAML file"),
        (f"where: {'9' * 5_000}\n", "not a YAML file"),
        ("where: " + "[" * 5_000, "not a YAML file"),
        ("where: \udcff", "not a YAML file"),
    ],
    ids=range(6),
)
def test_what_is_no_file_of_settings_is_said(tmp_path, text, problem):
    with pytest.raises(InputError, match=problem):
        read(tmp_path, text)
    with pytest.raises(InputError, match=r"cannot read the configuration: .*\(check the path\)"):
        settings_from_file(Walk, tmp_path / "absent.yaml")

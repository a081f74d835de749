from __future__ import annotations

import json
from dataclasses import dataclass

import pytest

from hf_paraphrase.apart import check_apart
from hf_paraphrase.errors import OutputError
from hf_paraphrase.settings import Settings, recipe, setting


@pytest.fixture
def place(tmp_path, monkeypatch):
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
        ("par/pairs", "par/pairs", "is"),
        ("par/../par/pairs", "par/pairs/", "is"),
        ("par", "par/pairs", "holds"),
        ("par/pairs", "link", "is"),
        ("link", "par/pairs", "is"),
        ("link/scored", "par/pairs", "lies in"),
        ("par/pairs/data/new", "par/pairs", "lies in"),
        # The link would go, if not what it leads to.
        ("par", "par/shortcut", "holds"),
        ("par", "mine=par/pairs", "holds"),
        ("par", "raw:par/pairs", "holds"),
        ("raw", "raw/fr-en", "holds"),
        ("raw/fr-en.test.fr", "raw/fr-en.test", "is"),
    ],
)
def test_an_output_that_is_or_holds_or_lies_in_an_input_is_refused(place, output, given, relation):
    for absolute in (False, True):
        with pytest.raises(OutputError, match=f"the output {relation} the input of --pairs"):
            check_apart([place / output if absolute else output], [("the input of --pairs", given)])


@pytest.mark.parametrize(
    ("output", "given"),
    [
        ("par/scored", "par/pairs"),
        ("par/pairs2", "par/pairs"),
        ("raw/prepared", "raw"),
        ("raw/results.json", "."),
        ("org", "org/name"),
        ("out", "a\0b"),
        ("out", ""),
        ("out", "~nobody-of-this-name/x"),
        ("out", "x" * 5000),
    ],
)
def test_an_output_beside_the_inputs_or_in_a_folder_of_raw_data_is_in_order(place, output, given):
    check_apart([output], [("the input of --pairs", given)])


def test_two_outputs_lie_apart_as_well(place):
    with pytest.raises(OutputError, match="the output is another output"):
        check_apart(["scores.json", "./scores.json"], [])
    with pytest.raises(OutputError, match="the output is another output"):
        check_apart(["new", place / "new"], [])
    check_apart(["a.json", "b.json"], [])


@dataclass(kw_only=True)
class CopySettings(Settings):
    """Copies."""

    pairs: list[str] = setting("the pairs")
    output: str = setting("the copy")
    split: str = setting("the split", "train")
    kind: str = setting("the kind", "raw", choices=["raw", "new"])
    count: int = setting("how many", 3)


@recipe(CopySettings)
def copy(settings: CopySettings) -> str:
    """Copies."""
    return settings.output


def test_every_recipe_refuses_such_outputs_before_it_does_anything(place):
    with pytest.raises(OutputError, match="the output holds the input of --pairs"):
        copy(pairs=["raw", place / "par" / "pairs"], output="par")
    assert copy(pairs=["raw"], output="par") == "par"
    assert copy(pairs="par/pairs", output="raw", kind="raw") == "raw"
    (place / "train").mkdir()
    assert copy(pairs="par/pairs", output="train") == "train"


def test_the_record_says_what_was_made_and_not_how_the_run_met_what_was_there():
    @dataclass(kw_only=True)
    class RunSettings(CopySettings):
        overwrite: bool = setting("replace", False)
        resume: bool = setting("go on", False)

    begun = RunSettings(pairs=["a"], output="b", overwrite=True)
    resumed = RunSettings(pairs=["a"], output="b", resume=True)
    assert begun.record() == resumed.record() and "resume" not in json.dumps(begun.record())


@pytest.mark.parametrize("output", ["s3://bucket/out", "hf://datasets/me/mine", "file:///tmp/out", "cached::s3://b/o"])
def test_an_output_at_an_address_is_refused_and_no_folder_of_that_name_is_made(place, output):
    with pytest.raises(OutputError, match="the output is an address, and only inputs may be"):
        check_apart([output], [])
    check_apart(["of:two/parts", "C:/out"], [])
    assert sorted(path.name for path in place.iterdir()) == ["link", "par", "raw"]

"""The help of a verb with many flags begins with the ten that most users want, and leaves none out."""

from __future__ import annotations

import dataclasses
import re

import pytest

from hf_paraphrase.commands import help_groups, main
from hf_paraphrase.commands.argument_parser import VerbParser
from hf_paraphrase.commands.help_groups import FEW, MOST_USUAL, USUAL
from hf_paraphrase.commands.verbs import all_recipes

SETTINGS = {name: recipe.settings for name, recipe in all_recipes().items()}
LARGE = {verb: found for verb, found in SETTINGS.items() if len(dataclasses.fields(found)) > FEW}


def is_required(field):
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def test_every_verb_with_many_flags_says_which_are_usual_and_no_other_does():
    assert set(USUAL) == set(LARGE)


@pytest.mark.parametrize("verb", sorted(LARGE))
def test_usual_flags_are_at_most_ten_and_those_of_the_verb(verb):
    fields = {field.name: field for field in dataclasses.fields(LARGE[verb])}
    usual = USUAL[verb].split()
    assert len(set(usual)) == len(usual) <= MOST_USUAL and set(usual) <= set(fields)
    assert {name for name, field in fields.items() if is_required(field)} <= set(usual)


@pytest.mark.parametrize("verb", sorted(SETTINGS))
def test_the_help_has_every_flag_once(verb):
    parser = VerbParser(SETTINGS[verb], verb)
    text = parser.format_help()
    shown = re.findall(r"^  (--[\w-]+|-h)", text, re.MULTILINE)
    assert sorted(shown) == sorted(action.option_strings[0] for action in parser._actions)
    headings = re.findall(r"^(\S.*):\n  -", text, re.MULTILINE)
    if verb in LARGE:
        assert headings[0] == "usual flags" and headings[-1].startswith("the run") and len(headings) > 2
        first = text.partition("usual flags:")[2].partition("\n\n")[0]
        assert len(re.findall(r"^  --(?!no-)", first, re.MULTILINE)) <= MOST_USUAL
    else:
        assert headings == ["flags"]


def test_no_theme_names_what_is_no_flag_of_any_verb():
    fields = {field.name for found in SETTINGS.values() for field in dataclasses.fields(found)} | {"config", "help"}
    themes = [help_groups._OF_ALL, *help_groups._OF_VERBS.values(), {"last": help_groups._OF_THE_RUN}]
    named = {name for theme in themes for text in theme.values() for name in text.split()}
    assert named <= fields, named - fields


def test_the_first_line_has_what_is_required_and_switches_stand_alone(capsys):
    with pytest.raises(SystemExit, match="0"):
        main(["train-encoder", "--help"])
    out = capsys.readouterr().out
    assert out.startswith("usage: hf-paraphrase train-encoder --output OUTPUT --pairs PAIRS [flags]\n")
    assert re.search(r"^  --overwrite\s+replace", out, re.MULTILINE) and "(default: False)" not in out
    assert re.search(r"^  --lower-case, --lowercase \[LOWER_CASE\]\n", out, re.MULTILINE)

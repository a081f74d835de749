from __future__ import annotations

import os

import pytest

from hf_paraphrase.commands import main
from hf_paraphrase.messages import is_main_process, process_count, stray_variables_hidden

WHOLE = {"RANK": "1", "LOCAL_RANK": "1", "WORLD_SIZE": "2"}
STRAY = [
    {"RANK": "1"},
    {"LOCAL_RANK": "1"},
    {"WORLD_SIZE": "4"},
    {"RANK": "1", "WORLD_SIZE": "4"},
    {"RANK": "1", "LOCAL_RANK": "0"},
    {"RANK": "4", "LOCAL_RANK": "0", "WORLD_SIZE": "4"},
    {"RANK": "one", "LOCAL_RANK": "1", "WORLD_SIZE": "4"},
    {"RANK": "1", "LOCAL_RANK": "1", "WORLD_SIZE": "-1"},
    {"RANK": "1", "LOCAL_RANK": "1", "WORLD_SIZE": ""},
    {"RANK": "1", "LOCAL_RANK": "1", "WORLD_SIZE": "9" * 5_000},
]


@pytest.fixture
def environment(monkeypatch):
    for name in WHOLE:
        monkeypatch.delenv(name, raising=False)

    def become(variables):
        for name, value in variables.items():
            monkeypatch.setenv(name, value)

    return become


def test_a_group_of_processes_is_one_that_says_all_of_itself(environment):
    assert (process_count(), is_main_process()) == (1, True)
    environment(WHOLE)
    assert (process_count(), is_main_process()) == (2, False)
    with stray_variables_hidden():
        assert {name: os.environ[name] for name in WHOLE} == WHOLE


@pytest.mark.parametrize("variables", STRAY, ids=range(len(STRAY)))
def test_a_stray_variable_is_no_group_and_is_hidden_from_the_libraries(variables, environment):
    environment(variables)
    assert (process_count(), is_main_process()) == (1, True)
    with pytest.raises(KeyError, match="the work"), stray_variables_hidden():
        assert not set(WHOLE) & set(os.environ)
        raise KeyError("the work")
    assert {name: os.environ.get(name) for name in variables} == variables


@pytest.mark.parametrize("variables", [{"RANK": "1"}, {"WORLD_SIZE": "4"}, {"LOCAL_RANK": "0"}], ids=str)
def test_a_verb_works_and_says_so_beside_a_stray_variable(variables, environment, tmp_path, capsys):
    environment(variables)
    (tmp_path / "text.txt").write_text("one two\n")
    words = [
        "--kind",
        "word",
        "--min-frequency",
        "1",
        "--text",
        str(tmp_path / "text.txt"),
        "--output",
        str(tmp_path / "made"),
    ]
    assert main(["train-tokenizer", *words]) == 0
    assert "made" in capsys.readouterr().err and (tmp_path / "made" / "README.md").is_file()

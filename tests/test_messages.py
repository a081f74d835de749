from __future__ import annotations

import os
import subprocess
import sys

import pytest

from hf_paraphrase.commands import main
from hf_paraphrase.messages import is_main_process, lacks_its_group, process_count, stray_variables_hidden

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


LAUNCHED = {"ACCELERATE_MIXED_PRECISION": "no", "MASTER_PORT": "29500"}


@pytest.mark.parametrize(
    ("variables", "lacks"),
    [
        (LAUNCHED, True),
        ({"ACCELERATE_MIXED_PRECISION": "no"}, False),
        ({"MASTER_PORT": "29500"}, False),
        ({**LAUNCHED, **WHOLE}, False),
        ({**LAUNCHED, "OMPI_COMM_WORLD_SIZE": "2"}, False),
        ({}, False),
    ],
)
def test_one_process_in_the_place_of_several_is_known_by_what_accelerate_sets(
    variables, lacks, environment, monkeypatch
):
    for name in (*LAUNCHED, "OMPI_COMM_WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    environment(variables)
    assert lacks_its_group() is lacks


@pytest.mark.slow
def test_accelerate_on_cpus_starts_one_process_and_the_log_begins_with_it():
    launch = [sys.executable, "-m", "accelerate.commands.launch", "--cpu", "--num_processes", "2"]
    known = {key: value for key, value in os.environ.items() if not key.startswith(("ACCELERATE", "MASTER"))}
    environment = {**known, "PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [*launch, "-m", "hf_paraphrase", "env"],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
        timeout=200,
    )
    said = (
        "accelerate was asked for several processes and started one; with --multi_gpu in the place of --cpu it starts"
    )
    assert done.stderr.count(said) == 1 and "python" in done.stdout

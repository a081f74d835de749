from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from study_runs import SCRIPTS, parsed

SCRIPT = SCRIPTS / "studies" / "mining.sh"
RECORDER = f"""#!{sys.executable}
import json, pathlib, sys
words = sys.argv[1:]
with open("calls.jsonl", "a") as stream:
    stream.write(json.dumps(words) + chr(10))
output = pathlib.Path(words[words.index("--output") + 1])
output.parent.mkdir(parents=True, exist_ok=True)
output.touch()
"""


@pytest.fixture
def run(tmp_path):
    """Runs the script with a program in the place of `hf-paraphrase` that records what it is asked for."""
    program = tmp_path / "bin" / "hf-paraphrase"
    program.parent.mkdir()
    program.write_text(RECORDER)
    program.chmod(0o755)

    def study(*words, **sizes):
        environment = {**os.environ, **sizes, "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}"}
        command = ["bash", str(SCRIPT), *words]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        calls = tmp_path / "calls.jsonl"
        lines = calls.read_text().splitlines() if calls.is_file() else []
        calls.unlink(missing_ok=True)
        return done, [json.loads(line) for line in lines]

    return study


@pytest.mark.parametrize("language", ["fr", "de"])
def test_every_call_of_the_study_is_one_that_its_command_understands(run, language):
    done, calls = run("data", "work", language, PAIRS="123")
    assert done.returncode == 0, done.stderr
    verbs = [" ".join(call[:2]) if call[0] == "prepare" else call[0] for call in calls]
    assert verbs.count("train-parallel-classifier") == 4 and verbs[-2:] == ["evaluate-mining", "mine"]
    for call in calls:
        arguments = parsed(call)
        if call[0] == "train-parallel-classifier":
            assert arguments.max_pairs == 123
    tuned = parsed(calls[-1])
    assert (
        tuned.source == f"work/task/{language}-en.test.{language}"
        and tuned.tune_on == f"work/task/{language}-en.training"
    )


def test_what_is_there_is_not_made_again(run):
    _, first = run("data", "work")
    done, second = run("data", "work")
    assert done.returncode == 0 and second == [] and done.stdout.count("there already") == len(first)


def test_an_unknown_language_is_refused(run):
    done, calls = run("data", "work", "xx")
    assert done.returncode == 2 and calls == [] and "fr or de" in done.stderr

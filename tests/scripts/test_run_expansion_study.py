from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "studies" / "expansion.sh"
RECORDER = f"""#!{sys.executable}
import json, pathlib, sys
words = sys.argv[1:]
with open("calls.jsonl", "a") as stream:
    stream.write(json.dumps(words) + chr(10))
output = pathlib.Path(words[words.index("--output") + 1])
output.mkdir(parents=True, exist_ok=True)
(output / "table.md").write_text("| encoder |" + chr(10) + "|---|" + chr(10) + "| " + output.name + " |" + chr(10))
"""


@pytest.fixture
def run(tmp_path):
    """Runs the script with a program in the place of `python` that records what it is asked for."""
    program = tmp_path / "bin" / "python"
    program.parent.mkdir()
    program.write_text(RECORDER)
    program.chmod(0o755)
    for name in ("glove.txt", "dict"):
        (tmp_path / name).touch()

    def study(**settings):
        given = {"GLOVE": "glove.txt", "WORDNET": "dict", **settings}
        environment = {**os.environ, **given, "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}"}
        command = ["bash", str(SCRIPT), "data", "work"]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        calls = tmp_path / "calls.jsonl"
        return done, [json.loads(line) for line in calls.read_text().splitlines()] if calls.is_file() else []

    return study


def test_only_configurations_with_expansion_are_expanded_and_without_definitions_of_the_evaluation_sets(
    run, tmp_path, load_script, monkeypatch
):
    (tmp_path / "pairs").mkdir()
    done, calls = run(PAIRS="pairs")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "| encoder |",
        "|---|",
        "| avg |",
        "| avg_expanded |",
        "| gran |",
        "| gran_expanded |",
    ]
    assert (tmp_path / "work/expansion/table.md").read_text() == done.stdout
    module = load_script("studies/compare_encoders")
    trained = []
    for script, *words in calls:
        assert Path(script).name == "compare_encoders.py"
        monkeypatch.setattr(sys, "argv", [script, *words])
        options = module.arguments()
        expands = {"\nexpansion: " in path.read_text() for path in options.configs}
        assert expands == {bool(options.flags)} and [item.partition("=")[0] for item in options.group] == [
            "glosses",
            "others",
        ]
        if options.flags:
            assert (
                options.flags[:3] == ["--expansion", "dict", "--expansion-decontaminate"]
                and "data/sts" in options.flags
            )
        trained += [(path.stem.removeprefix("study_004_"), len(options.seeds)) for path in options.configs]
    assert trained == [
        ("avg_10_epochs", 10),
        ("avg_12_epochs", 10),
        ("avg_10_epochs_pairs", 10),
        ("avg_10_epochs_compositionality", 10),
        ("gran_2_epochs", 5),
        ("gran_2_epochs_pairs", 5),
        ("gran_2_epochs_compositionality", 5),
    ]


def test_without_pairs_it_says_where_they_come_from(run):
    done, calls = run()
    assert done.returncode == 2 and calls == [] and "give a data folder as PAIRS" in done.stderr

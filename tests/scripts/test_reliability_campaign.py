from __future__ import annotations

import json
import os
import random
import subprocess
from pathlib import Path

import pytest

import campaign
from campaign import KINDS, Probes
from cases import CASES, differences, left_over
from forks import Ended


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("case", "has_inputs"), [("pairs", True), ("space", False)])
def test_a_sound_verb_with_or_without_inputs_passes_every_kind_of_probe(artefacts, tmp_path, kind, case, has_inputs):
    assert bool(CASES[case].inputs) is has_inputs
    probe = getattr(Probes(artefacts), kind)
    for number in range(3 if has_inputs else 1):
        assert probe(CASES[case], random.Random(number), tmp_path / str(number)) == []


@pytest.mark.parametrize(("finished", "count"), [("output/runs/a.json", 0), ("job.json", 1)])
def test_a_refused_run_leaves_only_what_resume_continues(artefacts, monkeypatch, tmp_path, finished, count):
    def refuse(words, folder, *_):
        path = folder / ".tune.0.partial" / finished
        path.parent.mkdir(parents=True)
        path.touch()
        return Ended(2, "", "hf-paraphrase: error: not a readable Parquet file")

    monkeypatch.setattr(campaign, "run", refuse)
    assert len(Probes(artefacts).damaged_input(CASES["tune"], random.Random(0), tmp_path)) == count


def test_other_bytes_and_what_is_left_over_are_found(artefacts, tmp_path):
    output = tmp_path / "pairs"
    output.mkdir()
    (tmp_path / ".pairs.partial").mkdir()
    (tmp_path / ".pairs.lock").touch()
    assert "README.md" in differences(artefacts["pairs"], output)
    assert left_over(tmp_path, output) == [".pairs.partial"]


def test_records_are_compared_without_times_and_interruptions(tmp_path):
    for name, record in (
        ("a", {"results": {"seconds": 1.5}, "interruptions": ["resumed"], "seed": 1}),
        ("b", {"results": {"seconds": 2.5}, "seed": 1}),
        ("c", {"results": {"seconds": 2.5}, "seed": 2}),
    ):
        (tmp_path / name).mkdir()
        (tmp_path / name / "provenance.json").write_text(json.dumps(record))
    assert differences(tmp_path / "a", tmp_path / "b") == []
    assert differences(tmp_path / "b", tmp_path / "c") == ["provenance.json"]


def raise_timeout(*_):
    raise TimeoutError("no end")


@pytest.mark.parametrize(
    ("kill", "code"),
    [(None, 0), (lambda *_: ["other bytes: a"], 1), (raise_timeout, 3)],
    ids=["none", "found", "slow"],
)
def test_the_exit_code_separates_slow_runs_from_other_findings(monkeypatch, capsys, kill, code):
    monkeypatch.setattr(campaign, "_ENVIRONMENT", {})
    if kill is not None:
        monkeypatch.setattr(Probes, "kill", kill)
    assert campaign.main(["--minutes", "0.05", "--cases", "fingerprint"]) == code
    lines = capsys.readouterr().out.splitlines()
    summary = [line.split() for line in lines if " probes " in line]
    assert [line[0] for line in summary] == list(KINDS) and int(summary[0][1]) > 0
    assert ("probe 0, kill of fingerprint: " in lines[0]) == bool(code)


def test_the_last_line_is_the_command_by_which_the_shell_learns_the_programs(tmp_path):
    programs = tmp_path / "an environment" / "bin"
    programs.mkdir(parents=True)
    for name in ("python", "hf-paraphrase"):
        (programs / name).write_text('#!/usr/bin/env bash\necho "called: $*"\n')
        (programs / name).chmod(0o755)
    (programs / "activate").write_text("echo activated\n")
    script = Path(__file__).resolve().parents[2] / "scripts" / "run_quickstart.sh"
    environment = {**os.environ, "VENV": str(programs.parent)}
    done = subprocess.run(
        ["bash", str(script), str(tmp_path / "out")], env=environment, capture_output=True, text=True, check=True
    )
    lines = done.stdout.splitlines()
    assert lines[-2] == f"called: quickstart --output {tmp_path / 'out'} --resume"
    again = subprocess.run(["bash", "-c", lines[-1]], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert again.stdout == "activated\n"

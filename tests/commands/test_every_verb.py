"""What holds for every verb: each row of `scripts/reliability/cases.yaml` is run, repeated, killed, damaged."""

from __future__ import annotations

import json
import operator
import random
import shutil
import time
from pathlib import Path
from unittest.mock import Mock

import pytest

from cases import CASES, contents, differences, left_over
from forks import run_here
from hf_paraphrase.commands import VERBS

DISTURBED = [case for case in CASES.values() if not case.for_others]
WRITING = [case for case in DISTURBED if case.writes]
NAME = operator.attrgetter("name")
each_case = pytest.mark.parametrize("case", DISTURBED, ids=NAME)
each_output = pytest.mark.parametrize("case", WRITING, ids=NAME)
INPUTS = [
    pytest.param(case, source, id=f"{case.name}-{''.join(source)}") for case in DISTURBED for source in case.inputs
]
REPLACED = {"avg", "filter", "fingerprint", "encode", "index", "lexical", "report", "sts", "tune", "mining"}
"""Trainings, data, files, reports and what else has a way of its own to write."""
KILLED = [case for case in WRITING if (case.resumes and not case.in_parts) or case.name in {"filter", "scored", "sts"}]
"""One of each way to go on after a kill: `-m slow` has the others."""
PROVENANCE = {"command", "settings", "seed", "versions", "inputs"}


def assert_refused(ended):
    assert ended.code == 2 and len(ended.errors) == 1 and not ended.has_traceback, ended
    assert ended.stdout == ""


def overwriting(case):
    """The flag with which a case replaces its output, where it does."""
    return ["--overwrite"] if "overwrite" in case.settings and not case.in_parts else []


def work_of(folder):
    """Reads all files but locks, which a killed run leaves and the next one removes."""
    return {name: content for name, content in contents(folder).items() if not name.endswith(".lock")}


def test_every_verb_has_a_case():
    assert {case.verb for case in CASES.values()} == set(VERBS) - {"quickstart", "serve"}, (
        "one runs the others, one runs on"
    )


@each_case
def test_it_runs_and_prints_only_data_to_standard_output(case, artefacts):
    done = artefacts.run_of(case.name)
    assert bool(done.stdout) == case.prints
    assert not done.errors and not done.has_traceback


@each_output
def test_its_output_says_how_it_was_made(case, artefacts):
    output = artefacts[case.name]
    beside = output.with_name(f"{output.name}.provenance.json")
    record = output / "provenance.json" if output.is_dir() else beside
    if output.is_dir():
        assert (output / "README.md").read_text().startswith(("---\n", "# "))
    if record.exists() or output.is_dir():
        provenance = json.loads(record.read_text())
        assert provenance.keys() >= PROVENANCE
        assert case.verb in provenance["command"] and provenance["settings"]
        assert "seed" not in case.settings or provenance["seed"] is not None or case.verb == "search"
        assert {"python", "hf-paraphrase"} <= provenance["versions"].keys()
        named = {str(entry["name"]).rpartition("/")[2] for entry in provenance["inputs"]}
        assert not case.inputs or named
        assert all(len(entry["sha256"]) == 64 for entry in provenance["inputs"])


@each_output
def test_an_output_that_exists_is_refused_and_replaced_only_on_request(case, artefacts, tmp_path):
    done = artefacts[case.name]
    output = shutil.copytree(done.parent, tmp_path / "run") / done.name
    before = contents(tmp_path / "run")
    words = case.words(artefacts.paths(case))
    again = run_here(words, tmp_path / "run")
    if case.in_parts:
        assert again.code == 0, "a part that is repeated when the job is complete has nothing to do"
    else:
        assert_refused(again)
    assert contents(tmp_path / "run") == before
    if not overwriting(case):
        return
    # Most outputs are replaced alike: the remaining runs only start.
    stops = [] if case.name in REPLACED else [1, Mock(side_effect=KeyboardInterrupt)]
    replaced = run_here([*words, "--overwrite"], tmp_path / "run", *stops)
    assert replaced.code == (130 if stops else 0), replaced
    assert differences(done, output) == [] and left_over(tmp_path / "run", *done.parent.iterdir()) == []


@pytest.mark.parametrize(
    "case", [case for case in WRITING if "overwrite" in case.settings], ids=lambda case: case.name
)
def test_a_folder_of_somebody_else_is_never_replaced(case, artefacts, tmp_path):
    (tmp_path / case.output).mkdir()
    (tmp_path / case.output / "thesis.txt").write_text("years of work")
    (tmp_path / case.output / "job.json").write_text("{}")
    before = contents(tmp_path)
    assert_refused(run_here(case.words(artefacts.paths(case), "--overwrite"), tmp_path))
    assert contents(tmp_path) == before


@each_output
def test_an_output_is_not_written_through_a_link(case, artefacts, tmp_path):
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "thesis.txt").write_text("years of work")
    before = contents(tmp_path / "precious")
    (tmp_path / "run").mkdir()
    target = tmp_path / "precious" / ("thesis.txt" if case.ending else "")
    (tmp_path / "run" / case.output).symlink_to(target)
    assert_refused(run_here(case.words(artefacts.paths(case), *overwriting(case)), tmp_path / "run"))
    assert contents(tmp_path / "precious") == before and (tmp_path / "run" / case.output).is_symlink()


STOPPED = """
import os, signal, sys
from pathlib import Path
from forks import CHANGES
from hf_paraphrase.commands import main

def reached():
    Path(sys.argv[1]).touch()
    os.kill(os.getpid(), signal.SIGSTOP)

CHANGES.begin(Path.cwd(), int(sys.argv[2]), reached)
sys.exit(main(sys.argv[3:]))
"""
"""Runs a verb in a fresh process, which stops before a change of the file system and leaves a file that says so."""


KILLS = [
    pytest.param(case, moment, marks=[] if case in KILLED and moment == "middle" else pytest.mark.slow)
    for case in WRITING
    for moment in ("middle", "anywhere", "last")
]


@pytest.mark.parametrize(("case", "moment"), KILLS, ids=lambda value: getattr(value, "name", value))
def test_a_killed_run_is_completed_to_the_same_bytes_and_keeps_others_out(
    case, moment, artefacts, tmp_path, run_python
):
    # It stops at a change of the file system, another one starts, the first is killed, and a third one finishes.
    changes = artefacts.run_of(case.name).changes
    at = {"middle": changes // 2 + 1, "anywhere": random.Random(case.name).randint(1, changes), "last": changes}[
        moment
    ]
    done, words, folder = artefacts[case.name], case.words(artefacts.paths(case)), tmp_path / "run"
    output, sign = folder / case.output, tmp_path / "has stopped"
    folder.mkdir()
    stopped = run_python.start(STOPPED, sign, at, *words, folder=folder, environment={"TMPDIR": str(tmp_path)})
    while not sign.exists():
        time.sleep(0.005)
        if not Path(f"/proc/{stopped.pid}").exists():
            pytest.fail(f"it has ended before: {stopped.end()}")
    sign.unlink()
    # Soon after its start it may have neither a lock nor work to lose.
    late = at > changes // 2
    if not case.in_parts and late:
        assert_refused(run_here(words, folder))
    stopped.kill()
    assert not output.exists() or differences(done, output) == []
    if case.resumes and not case.in_parts and not output.exists() and late:
        left = work_of(folder)
        assert_refused(run_here(words, folder))
        if "seed" in case.settings:
            assert_refused(run_here([*words, "--resume", "--seed", "99"], folder))
        assert work_of(folder) == left, "an incomplete run is neither continued nor destroyed by another one"
    ended = run_here([*words, "--resume"] if case.resumes else words, folder)
    # A command without --resume refuses an output that was complete before the kill.
    assert ended.code == 0 or (ended.code == 2 and not case.resumes and output.exists()), ended
    assert differences(done, output) == []
    assert left_over(folder, *done.parent.iterdir()) == []


def with_copy(case, source, artefacts, folder):
    """Copies one of the inputs of a case: the copy, and the words of a command line that reads it."""
    name, below = source
    paths = artefacts.paths(case)
    shutil.copytree(paths[name].parent if name in CASES else paths[name], folder / "inputs")
    paths[name] = folder / "inputs" / (paths[name].name if name in CASES else "")
    return paths[name] / below.lstrip("/") if below else paths[name], case.words(paths)


TEXTS = (".tsv", ".csv", ".txt", ".jsonl", ".po", ".tmx", ".fr", ".en", ".gold", ".noun", ".verb", ".adj", ".adv")


def damage(path):
    """Cuts off binary files and breaks the encoding of texts; of our own folders data and weights alone."""
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    files = files or list(path.parent.glob(f"{path.name}*"))
    for file in [file for file in files if file.suffix in (".safetensors", ".parquet", ".arrow", ".npy")] or files:
        content = file.read_bytes()
        middle = len(content) // 2
        file.write_bytes(content[:middle] + (b"\xff\xfe\n" + content[middle:] if file.suffix in TEXTS else b""))


@pytest.mark.parametrize(("case", "source"), INPUTS)
def test_a_damaged_input_is_one_line_and_leaves_nothing(case, source, artefacts, tmp_path):
    path, words = with_copy(case, source, artefacts, tmp_path)
    damage(path)
    (tmp_path / "run").mkdir()
    assert_refused(run_here(words, tmp_path / "run"))
    assert left_over(tmp_path / "run") == []


@pytest.mark.parametrize(("case", "source"), [item for item in INPUTS if item.values[0].writes])
def test_an_output_does_not_overlap_an_input(case, source, artefacts, tmp_path):
    path, words = with_copy(case, source, artefacts, tmp_path)
    (tmp_path / "run").mkdir()
    before = contents(tmp_path)
    # An output may be next to raw files.
    inside = [path / "new"] if (path / "provenance.json").is_file() else []
    for output in [path.parent, *([path] if path.exists() else []), *inside]:
        words[-1] = str(output)
        assert_refused(run_here([*words, *overwriting(case)], tmp_path / "run"))
    assert contents(tmp_path) == before


@pytest.mark.parametrize("case", [case for case in WRITING if "learning_rate" in case.settings], ids=NAME)
def test_a_training_that_diverges_leaves_no_model(case, artefacts, tmp_path):
    if case.verb == "tune":
        pytest.skip("a grid goes on where one of its models diverges")
    ended = run_here(case.words(artefacts.paths(case), "--learning-rate", "1e30"), tmp_path)
    assert_refused(ended)
    assert "--learning-rate" in ended.errors[0] and not (tmp_path / case.output).exists()


# `score` takes a device for its models only, which its cases do not have.
WITH_DEVICE = [case for case in DISTURBED if "device" in case.settings and case.verb != "score"]


@pytest.mark.parametrize("case", WITH_DEVICE, ids=NAME)
def test_a_device_that_is_not_there_is_refused_before_any_work(case, artefacts, tmp_path):
    ended = run_here(case.words(artefacts.paths(case), "--device", "cuda:7"), tmp_path)
    assert_refused(ended)
    assert "this machine has no --device cuda:7 (" in ended.errors[0] and not list(tmp_path.iterdir())

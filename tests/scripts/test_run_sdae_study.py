from __future__ import annotations

import os
import select
import shutil
from collections import defaultdict

import pytest
from study_runs import StudyRuns, after, parsed

NAMES = [f"{variant}_{seed}" for seed in (0, 1) for variant in ("plain", "noise", "regulariser")]
STEPS = ["train-sdae", "evaluate sts", "evaluate senteval"]


@pytest.fixture
def run(tmp_path):
    study = StudyRuns(tmp_path, "studies/sdae.sh", python=True)
    given = {"SEEDS": "0 1", "STEPS": "12", "JOBS": "1"}
    # What would be fetched.
    for name in ("GLOVE", "WORDNET"):
        (tmp_path / name).touch()
        given[name] = str(tmp_path / name)
    for name in ("transfer/MR", "msrp"):
        (tmp_path / "data" / name).mkdir(parents=True)
    lines = ["\ufeffQuality\n", *(f"1\t{x}\t{x}\ta {x}\tb {x}\n" for x in range(9))]
    (tmp_path / "data/msrp/msr_paraphrase_train.txt").write_text("".join(lines))
    return lambda **environment: study(**{**given, **environment})


def steps_of(calls):
    """Returns the steps of each run, in their order; the calls that are of no run are under `""`."""
    found = defaultdict(list)
    for words in calls:
        if words[0] == "prepare":
            found[""].append(f"prepare {after(words, '--output')}")
        elif words[0] == "evaluate":
            found[after(words, "--model")].append(f"evaluate {after(words, '--suite')}")
        else:
            found[after(words, "--output")].append(words[0])
    return dict(found)


TEXT = {"": ["prepare captions", "prepare help", "prepare tatoeba_fr", "prepare tatoeba_de"]}


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_every_run_is_trained_and_evaluated_once_and_never_again(run, tmp_path, jobs):
    done, calls = run(JOBS=jobs)
    assert done.returncode == 0, done.stderr
    assert steps_of(calls) == {**TEXT, **dict.fromkeys(NAMES, STEPS)}
    assert [words[0] for words in calls[:4]] == ["prepare"] * 4
    if jobs == "1":
        assert [after(words, "--output") for words in calls if words[0] == "train-sdae"] == NAMES
    assert (tmp_path / "work" / "table.md").read_text() == "the table\n" and done.stdout.endswith("the table\n")
    done, calls = run(JOBS=jobs)
    assert done.returncode == 0 and calls == [] and done.stdout.endswith("the table\n")


def test_a_quarter_of_msrps_training_part_is_tested_on_and_the_rest_trained_on(run, tmp_path):
    done, calls = run()
    assert done.returncode == 0, done.stderr
    folder = tmp_path / "work/transfer"
    whole = (tmp_path / "data/msrp/msr_paraphrase_train.txt").read_text().splitlines()
    train, test = ((folder / f"msr_paraphrase_{part}.txt").read_text().splitlines() for part in ("train", "test"))
    assert train == whole[:8] and test == [whole[0], *whole[8:]] and (folder / "MR").is_dir()
    tasks = [words for words in calls if words[0] == "evaluate" and after(words, "--suite") == "senteval"]
    assert tasks and all("work/transfer" in words for words in tasks)


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_what_is_missing_and_nothing_else_is_made_again(run, tmp_path, jobs):
    run(JOBS=jobs)
    work = tmp_path / "work"
    shutil.rmtree(work / "models" / "noise_1")
    shutil.rmtree(work / "help")
    (work / "sts" / "plain_0.json").unlink()
    done, calls = run(JOBS=jobs)
    assert done.returncode == 0
    assert steps_of(calls) == {"": ["prepare help"], "noise_1": STEPS[:1], "plain_0": STEPS[1:2]}


def test_without_tasks_there_is_no_transfer_evaluation(run):
    done, calls = run(TASKS="", SEEDS="0")
    assert done.returncode == 0 and steps_of(calls) == {**TEXT, **dict.fromkeys(NAMES[:3], STEPS[:2])}


@pytest.mark.parametrize("failing", ["models/plain_0", "suite sts --data data/sts --model work/models/noise_1"])
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_run_that_fails_ends_the_study_and_the_next_study_continues_there(run, failing, jobs):
    done, calls = run(JOBS=jobs, FAILING=failing)
    assert done.returncode == 1 and "broken" in done.stderr and "the table" not in done.stdout
    failed = failing.rpartition("/")[2]
    assert steps_of(calls)[failed] == STEPS[: 1 if failed == "plain_0" else 2]
    if jobs == "1":
        assert list(steps_of(calls))[-1] == failed
    done, calls = run(JOBS=jobs)
    left = STEPS if failed == "plain_0" else STEPS[1:]
    assert done.returncode == 0 and steps_of(calls)[failed] == left


def test_the_last_run_failing_is_a_failure_too(run):
    done, calls = run(FAILING="models/regulariser_1")
    assert done.returncode == 1 and "the table" not in done.stdout
    assert steps_of(calls)["regulariser_1"] == STEPS[:1]


@pytest.mark.parametrize(("jobs", "endless"), [("2", "models/plain_0"), ("3", "models/plain_0")])
def test_a_study_that_fails_leaves_no_process_behind(run, jobs, endless):
    reading, writing = os.pipe()
    try:
        done, _ = run(JOBS=jobs, FAILING="models/noise_0", ENDLESS=endless, pass_fds=[writing])
        assert done.returncode == 1
    finally:
        os.close(writing)
    # It ends when the last process has gone that the study had started.
    ready, _, _ = select.select([reading], [], [], 60)
    os.close(reading)
    assert ready, "a process of the study goes on"


def test_every_call_of_the_study_is_one_that_its_command_understands(run):
    _, calls = run()
    trained = {after(words, "--output"): parsed(words) for words in calls if words[0] == "train-sdae"}
    assert [trained[f"{name}_1"].expansion_use for name in ("noise", "regulariser")] == ["noise", "regulariser"]
    assert {found.max_steps for found in trained.values()} == {12} and trained["plain_1"].expansion is None
    for words in calls:
        if words[0] == "prepare":
            assert parsed(words).drop_duplicates == "target"

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from study_runs import SCRIPTS, parsed

SCRIPT = SCRIPTS / "studies" / "mining.sh"
RECORDER = f"""#!{sys.executable}
import json, pathlib, shutil, sys
words = sys.argv[1:]
with open("calls.jsonl", "a") as stream:
    stream.write(json.dumps(words) + chr(10))
output = pathlib.Path(words[words.index("--output") + 1])
output.parent.mkdir(parents=True, exist_ok=True)
if words[0] == "evaluate-mining":
    shutil.copytree("report", output)
else:
    output.touch()
"""
NAMES = ("random", "zero", "remove", "hard")


def report(among_random, on_candidates, with_fixed=None):
    """The results of `evaluate-mining` with these F1 of the classifiers, on candidates also with fixed thresholds."""
    rows = [
        {
            "score": name,
            "one_to_one": None,
            "threshold_is": kind,
            "test": {"precision": 0.5, "recall": 0.25} | of(value),
        }
        for kind, values in (("fixed", with_fixed or on_candidates), ("tuned", on_candidates))
        for name, value in zip(NAMES, values, strict=True)
    ]
    of_random = {
        name: of(value) | {"best": {"f1": value + 0.1}} for name, value in zip(NAMES, among_random, strict=True)
    }
    recall = {"joint": [{"n": 1, "share": 90.0}, {"n": 10, "share": 95.0}]}
    return {"recall": recall, "random_pairs": of_random, "candidates": rows}


def of(f1):
    """An F1, and numbers of a million pairs that have it."""
    return {"f1": f1, "found": 10**6, "right": round(10**6 * f1), "gold": 10**6}


def write_curve(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [f"0.5\t{precision}\t{recall}\t0\t1\t1\n" for precision, recall in rows]
    path.write_text("threshold\tprecision\trecall\tf1\tfound\tright\n" + "".join(lines))


def write_curves(folder):
    """Formats the curves of a report."""
    for group in ("random_pairs", "candidates"):
        for name in NAMES:
            write_curve(folder / "curves" / group / f"{name}.tsv", [(0.5, 0.5)])


@pytest.fixture
def run(tmp_path):
    """Runs the script with a program in the place of `hf-paraphrase` that records what it is asked for."""
    program = tmp_path / "bin" / "hf-paraphrase"
    program.parent.mkdir()
    program.write_text(RECORDER)
    program.chmod(0o755)
    python = program.with_name("python")
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    write_curves(tmp_path / "report")
    (tmp_path / "report" / "results.json").write_text(json.dumps(report([0.5] * 4, [0.1] * 4)))

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
    done, calls = run("data", "work", language, PAIRS="123", SEEDS="3 4")
    assert done.returncode == 0, done.stderr
    verbs = [" ".join(call[:2]) if call[0] == "prepare" else call[0] for call in calls]
    assert verbs.count("train-parallel-classifier") == 8 and verbs[-2:] == ["evaluate-mining", "mine"]
    for call in calls:
        arguments = parsed(call)
        if call[0] == "train-parallel-classifier":
            assert arguments.max_pairs == 123
        if call[0].startswith("train") and call[0] != "train-tokenizer":
            assert arguments.output.startswith(f"work/seed_{arguments.seed}/")
    tuned = parsed(calls[-1])
    assert (
        tuned.source == f"work/task/{language}-en.test.{language}"
        and tuned.tune_on == f"work/task/{language}-en.training"
    )


def test_what_is_there_is_not_made_again(run):
    _, first = run("data", "work")
    done, second = run("data", "work")
    assert done.returncode == 0 and second == [] and done.stdout.count("there already") == len(first)


def test_the_findings_are_judged_over_the_seeds(load_script, tmp_path, capsys):
    table = load_script("studies/mining_table")
    folders = []
    for seed, among_random in enumerate((0.50, 0.51, 0.52)):
        folders.append(tmp_path / f"seed_{seed}")
        folders[-1].mkdir()
        on_candidates = [0.02, 0.02, 0.03, 0.2 + 0.001 * seed]
        found = report(
            [among_random, 0.3, among_random, among_random + 0.001], on_candidates, [0.01 * seed, 0.02, 0.03, 0.01]
        )
        (folders[-1] / "results.json").write_text(json.dumps(found))
    assert table.main([str(folder) for folder in folders]) == 0
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in capsys.readouterr().out.splitlines()]
    rows = {cells[0]: cells[1:] for cells in lines if cells}
    assert rows["random negatives, digits kept"] == [
        "51.0 ± 1.0",
        "61.0 ± 1.0",
        "50.0 ± 0.0",
        "25.0 ± 0.0",
        "1.0 ± 1.0",
    ]
    verdicts = [cells[0].rpartition(": ")[2] for cells in list(rows.values())[-7:]]
    # The sixth compares fixed thresholds, the one before it chosen ones.
    assert verdicts == ["holds", "cannot tell", "holds", "holds", "holds", "cannot tell", "holds"]
    assert rows["negatives from the n-best lists are better on candidates"][0].startswith("+18.1 [")
    assert rows["joint"] == ["90.0 ± 0.0", "95.0 ± 0.0"]


def test_drawing_the_pairs_again_varies_f1_as_a_bootstrap_of_them_does_and_alike_in_all_seeds(load_script):
    drawn = load_script("studies/mining_table").drawn_f1([{"found": 400, "right": 240, "gold": 600}] * 2, 0)
    kinds = np.repeat([0, 1, 2], [240, 160, 360])
    generator = np.random.default_rng(0)
    again = [np.bincount(generator.choice(kinds, len(kinds)), minlength=3) for _ in range(2000)]
    f1 = [200 * right / (2 * right + false + missed) for right, false, missed in again]
    assert drawn.mean() == pytest.approx(48.0, abs=0.3) and drawn[:, 0].std() == pytest.approx(np.std(f1), rel=0.1)
    assert (drawn[:, 0] == drawn[:, 1]).all()


def of_an_earlier_version():
    found = report([0.5] * 4, [0.1] * 4)
    for row in found["random_pairs"].values():
        del row["best"]
    return json.dumps(found)


def without(part):
    return json.dumps(report([0.5] * 4, [0.1] * 4) | {part: {}})


@pytest.mark.parametrize(
    "content",
    [
        "{}",
        "[",
        json.dumps({"random_pairs": {}, "candidates": []}),
        *map(without, ("recall", "random_pairs", "candidates")),
        of_an_earlier_version(),
        None,
    ],
)
def test_a_report_of_something_else_is_named_in_one_line(load_script, tmp_path, capsys, content):
    if content is not None:
        (tmp_path / "results.json").write_text(content)
    assert load_script("studies/mining_table").main([str(tmp_path)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert str(tmp_path / "results.json") in line and "run mining.sh again" in line


@pytest.mark.parametrize("rows", [[(0.8, 0.1), (0.5, 0.3), (0.6, 0.4)], [(0.6, 0.4), (0.5, 0.3), (0.8, 0.1)]])
def test_the_precision_at_a_recall_is_the_best_that_reaches_it(load_script, tmp_path, rows):
    picture = load_script("studies/mining_picture")
    write_curve(tmp_path / "curve.tsv", rows)
    found = dict(zip(picture.RECALLS.tolist(), picture.precision_at(tmp_path / "curve.tsv").tolist(), strict=True))
    wanted = {0.0: 80.0, 10.0: 80.0, 10.5: 60.0, 30.0: 60.0, 40.0: 60.0, 40.5: 0.0, 100.0: 0.0}
    assert {recall: found[recall] for recall in wanted} == pytest.approx(wanted)


def test_the_curves_of_all_seeds_are_one_picture_and_a_missing_one_is_named(load_script, tmp_path, capsys):
    picture = load_script("studies/mining_picture")
    reports = [tmp_path / "seed_0", tmp_path / "seed_1"]
    for report_folder in reports:
        write_curves(report_folder)
    words = [*map(str, reports), "--output", str(tmp_path / "curves.png")]
    assert picture.main(words) == 0 and (tmp_path / "curves.png").read_bytes()[:4] == b"\x89PNG"
    (reports[1] / "curves" / "candidates" / "zero.tsv").unlink()
    assert picture.main(words) == 2 and "zero.tsv: not a curve of this study" in capsys.readouterr().err


def test_an_unknown_language_is_refused(run):
    done, calls = run("data", "work", "xx")
    assert done.returncode == 2 and calls == [] and "fr or de" in done.stderr

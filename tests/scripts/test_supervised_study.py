from __future__ import annotations

import argparse
import json

import numpy as np
import pyarrow as pa
import pytest
from tiny_encoders import write_average

from hf_paraphrase.data.folder import DataFolder, write_split

WORDS = [f"w{number}" for number in range(20)]


@pytest.fixture
def folder(tmp_path):
    write_average(tmp_path / "avg", WORDS, hidden_size=4)
    generator = np.random.default_rng(0)
    for split, count in (("train", 40), ("validation", 12)):
        sides = [[" ".join(generator.choice(WORDS, size=4)) for _ in range(count)] for _ in range(2)]
        table = pa.table(
            {"sentence1": sides[0], "sentence2": sides[1], "entailment": [("A", "B")[i % 2] for i in range(count)]}
        )
        write_split(tmp_path / "sick", split, [table], table.schema)
    sentences = [" ".join(generator.choice(WORDS, size=4)) for _ in range(60)]
    table = pa.table({"text": sentences, "label": [number % 2 for number in range(60)]})
    write_split(tmp_path / "transfer", "cr.train", [table], table.schema)
    return tmp_path


def test_the_study_chooses_lambda_on_dev_makes_a_table_and_continues_where_it_was(
    folder, run_script, load_script, capsys
):
    words = ["--sick", folder / "sick", "--transfer", folder / "transfer", "--encoders", f"Avg={folder / 'avg'}"]
    words += ["--initial-vectors", folder / "avg", "--tasks", "SICK-E", "--seeds", 0, 1, "--lambdas", 0.001, 0.1]
    words += ["--output", folder / "study"]
    run_script("studies/supervised_runs", *words)
    first = capsys.readouterr().out
    lines = (folder / "study/results.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    ways = [(row["seed"], row["way"]) for row in rows]
    assert [way for seed, way in ways if seed == 0][-2:] == ["regularised"] * 2
    assert [way for seed, way in ways if seed == 1] == ["from scratch, word vectors", "fine-tuned", "regularised"]
    tried = [row for row in rows if row["way"] == "regularised" and row["seed"] == 0]
    assert len(ways) == 6 + len(tried) and {row["weight"] for row in tried} >= {0.001, 0.1}
    assert (
        rows[-1]["weight"] == max(sorted(tried, key=lambda row: row["weight"]), key=lambda row: row["dev"])["weight"]
    )
    assert all(len(row["said"]) == 12 and np.mean(row["said"]) * 100 == pytest.approx(row["test"]) for row in rows)
    assert first.count("\n") == 3 and "| SICK-E | Avg |" in first
    assert (folder / "study/supervised.png").stat().st_size > 1000
    assert first == (folder / "study/table.md").read_text() and not (folder / "study/model").exists()
    run_script("studies/supervised_runs", *words)
    assert capsys.readouterr().out == first
    assert (folder / "study/results.jsonl").read_text().splitlines() == lines
    # A line torn by a kill is a run to do again.
    (folder / "study/results.jsonl").write_text("\n".join(lines)[:-20])
    run_script("studies/supervised_runs", *words)
    assert capsys.readouterr().out == first
    again = (folder / "study/results.jsonl").read_text().splitlines()
    assert [*again[:-2], again[-1]] == lines


def test_a_grid_whose_best_is_at_its_end_continues_until_it_is_inside(load_script):
    study = load_script("studies/supervised_runs")
    tried = []

    def score(weight):
        tried.append(weight)
        return -abs(np.log10(weight) + 6.2)

    assert study.best_weight(score, [1e-3, 1e-5, 1e-4]) == 1e-6 and tried == [1e-5, 1e-4, 1e-3, 1e-6, 1e-7]
    assert study.best_weight(lambda weight: -abs(np.log10(weight) + 4), [1e-5, 1e-4, 1e-3]) == 1e-4
    assert study.best_weight(lambda weight: weight, [1.0, 10.0]) == 10.0 * 10**study.MOST_STEPS
    assert study.best_weight(lambda weight: 0.0, [1e-3, 1e-2]) == pytest.approx(1e-3 / 10**study.MOST_STEPS)


def test_a_task_without_parts_is_tested_on_a_tenth_of_it_that_all_runs_share(folder, run_script):
    words = ["--sick", folder / "sick", "--transfer", folder / "transfer", "--encoders", f"Avg={folder / 'avg'}"]
    words += ["--initial-vectors", folder / "avg", "--tasks", "CR", "--seeds", 0, "--lambdas", 0.1]
    run_script("studies/supervised_runs", *words, "--output", folder / "study")
    rows = [json.loads(line) for line in (folder / "study/results.jsonl").read_text().splitlines()]
    assert len(rows) >= 4 and {len(row["said"]) for row in rows} == {6}
    parts = {
        split: DataFolder(folder / "study/data/CR").table(split)["text"].to_pylist() for split in ("train", "test")
    }
    whole = DataFolder(folder / "transfer").table("cr.train")["text"].to_pylist()
    assert sorted(parts["train"] + parts["test"]) == sorted(whole) and not set(parts["train"]) & set(parts["test"])


@pytest.fixture
def compared(folder, load_script):
    """Compares two systems of which one is right about the first rows of 12, so many with each seed."""
    study = load_script("studies/supervised_runs")
    options = argparse.Namespace(sick=folder / "sick", transfer=folder / "transfer", output=folder / "study")
    task = study.Task("SICK-E", options)

    def rows(way, right):
        for seed, number in right.items():
            said = [float(row < number) for row in range(12)]
            yield {
                "task": "SICK-E",
                "encoder": "Avg",
                "way": way,
                "seed": seed,
                "said": said,
                "test": 100 * np.mean(said),
            }

    def compare(one, other, comparisons=1):
        ways = {"regularised": one, "fine-tuned": other, "from scratch, word vectors": other}
        found = [row for way, right in ways.items() for row in rows(way, right)]
        (gain, same) = study.compare(found, task, "Avg", comparisons).values()
        assert gain == same
        return gain.verdict("above")

    return compare


def test_a_verdict_is_over_test_rows_even_where_all_seeds_agree(compared):
    # One row in twelve is chance, however many seeds say the same.
    assert compared(dict.fromkeys(range(5), 7), dict.fromkeys(range(5), 6)) == "cannot tell"
    assert compared(dict.fromkeys(range(5), 11), dict.fromkeys(range(5), 1)) == "holds"
    assert compared(dict.fromkeys(range(5), 1), dict.fromkeys(range(5), 11)) == "does not"


def test_a_verdict_needs_three_seeds_and_is_wider_for_more_comparisons(compared):
    assert compared({0: 11, 1: 11}, {0: 1, 1: 1}) == "cannot tell"
    one, other = {0: 9, 1: 10, 2: 8}, {0: 3, 1: 4, 2: 3}
    assert compared(one, other) == "holds" and compared(one, other, 10**6) == "cannot tell"

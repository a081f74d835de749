from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest
from tiny_encoders import write_average

from hf_paraphrase.data.folder import write_split

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
    return tmp_path


def test_the_study_chooses_lambda_on_dev_makes_a_table_and_goes_on_where_it_was(
    folder, run_script, load_script, capsys
):
    words = ["--sick", folder / "sick", "--transfer", folder / "sick", "--encoders", f"Avg={folder / 'avg'}"]
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
    assert first.count("\n") == 3 and "| SICK-E | Avg |" in first
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


def test_a_grid_whose_best_is_at_its_end_goes_on_until_it_is_inside(load_script):
    study = load_script("studies/supervised_runs")
    tried = []

    def score(weight):
        tried.append(weight)
        return -abs(np.log10(weight) + 6.2)

    assert study.best_weight(score, [1e-3, 1e-5, 1e-4]) == 1e-6 and tried == [1e-5, 1e-4, 1e-3, 1e-6, 1e-7]
    assert study.best_weight(lambda weight: -abs(np.log10(weight) + 4), [1e-5, 1e-4, 1e-3]) == 1e-4
    assert study.best_weight(lambda weight: weight, [1.0, 10.0]) == 10.0 * 10**study.MOST_STEPS
    assert study.best_weight(lambda weight: 0.0, [1e-3, 1e-2]) == pytest.approx(1e-3 / 10**study.MOST_STEPS)


def test_a_verdict_needs_three_seeds_and_an_interval_without_zero(load_script):
    difference = load_script("studies/supervised_runs")._difference
    base = {0: 1.0, 1: 1.0, 2: 1.0}
    assert difference({0: 2.0, 1: 2.1, 2: 1.9}, base, 1) == "+1.0 [+0.8, +1.2] (holds)"
    assert difference({0: 0.0, 1: 0.1, 2: -0.1}, base, 1) == "-1.0 [-1.2, -0.8] (does not)"
    assert difference({0: 2.0, 1: 3.0, 2: 1.2}, base, 1) == "+1.1 [-1.2, +3.3] (cannot tell)"
    assert difference({0: 2.0, 1: 2.1, 2: 1.9}, base, 200).endswith("(cannot tell)")
    assert difference({0: 2.0, 1: 2.0}, base, 1) == "+1.0 (cannot tell)" and difference({5: 1.0}, base, 1) == "–"

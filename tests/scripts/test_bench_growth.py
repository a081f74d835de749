from __future__ import annotations

import json

import pytest
from study_runs import parsed


def test_a_stage_is_measured_at_every_size_and_the_last_line_has_the_exponents(run_script, capsys, tmp_path):
    work, record = tmp_path / "new" / "work", tmp_path / "growth.json"
    sizes = ["--start", 200, "--rows", 600, 1200, "--work", work, "--record", record]
    assert run_script("benchmarks/growth", *sizes, "--stages", "prepare") == 0
    lines = capsys.readouterr().out.splitlines()
    assert sum(line.startswith("prepare: ") for line in lines) == 3 and any("| prepare" in line for line in lines)
    assert set(json.loads(lines[-1])) <= {"prepare"} and len(json.loads(record.read_text())["prepare"]) == 3
    assert not list(work.iterdir())


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--rows", 1000, 900], "--rows must ascend from more than --start"),
        (["--stages", "sleep"], "--stages: there is no stage `sleep` (one of prepare, score"),
        (["--start", 1], "--start must be at least 2"),
    ],
)
def test_what_makes_no_sense_is_one_line(run_script, capsys, words, problem):
    assert run_script("benchmarks/growth", *words) == 2
    err = capsys.readouterr().err
    assert problem in err and err.count("\n") == 1


def test_exponents_are_those_of_what_grows_above_the_start(load_script):
    growth = load_script("benchmarks/growth")

    def costs(power):
        return [growth.Cost(rows, 2 + rows**power, 3 + 7 * (rows - 10) ** power, 0, 5) for rows in (10, 110, 1_010)]

    for power in (1, 2):
        assert growth.exponent(costs(power), lambda cost: cost.processors) == pytest.approx(power)
    assert growth.exponent(costs(1), lambda cost: cost.written) != growth.exponent(costs(1), lambda cost: cost.written)
    assert growth.expected_seconds(costs(2)[:1], 100) == 0
    last = costs(2)[-1].processors
    assert 3.9 * last < growth.expected_seconds(costs(2), 2_020) < 5 * last


def test_every_stage_is_one_that_its_verb_understands(load_script, tmp_path):
    growth = load_script("benchmarks/growth")
    for name in growth.NAMES:
        stage = growth.STAGES[name.removesuffix(" x2")]
        for words in stage.commands(tmp_path, 100, twice=name.endswith(" x2")):
            assert parsed(words[words.index("hf_paraphrase") + 1 :])

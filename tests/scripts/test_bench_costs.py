from __future__ import annotations

import json

import pytest


def cost(rows, processors, stored):
    return {"rows": rows, "wall": 1, "processors": processors, "peak": 1, "written": 1, "stored": stored}


@pytest.fixture
def record(tmp_path):
    path = tmp_path / "growth.json"
    stages = {
        "score": [cost(500, 36, 0), cost(10**6, 72, 10**9)],
        "score x2": [cost(500, 36, 0), cost(10**6, 72, 10**9)],
        "mine": [cost(500, 0, 0), cost(10**6, 36, 0)],
        "search": [cost(500, 1, 0)],
    }
    path.write_text(json.dumps(stages))
    return path


def test_costs_are_those_of_the_formulas(run_script, capsys, record):
    words = ["--pairs", 10**7, "--core-hour", 2, "--gb-month", 0.5, "--rate", 750, "--beams", 50, "--units", 15]
    assert run_script("benchmarks/costs", record, *words) == 0
    table = capsys.readouterr().out
    lines = [[cell.strip() for cell in line.split("|")] for line in table.splitlines() if not line.startswith("| --")]
    rows = {cells[1]: cells[2:5] for cells in lines if len(cells) > 4}
    # 36 s to start and ten times 36 s more; 10 GB.
    assert rows["score"] == ["0.11", "10", "5.2"]
    # Ten times the lines are a hundred times the comparisons.
    assert rows["mine"] == ["1", "0", "2"]
    # A second a pair.
    assert rows["back-translate, beam 50"] == ["2,778", "0", "5,556"]
    assert set(rows) == {"stage", "score", "mine", "back-translate, beam 50"}


def test_sizes_at_which_starting_hides_the_rows_give_no_negative_costs(run_script, capsys, tmp_path):
    path = tmp_path / "growth.json"
    path.write_text(json.dumps({"score": [cost(500, 1.3, 0), cost(1000, 1.2, 8), cost(3000, 1.1, 9)]}))
    assert run_script("benchmarks/costs", path) == 2
    assert "`score` took less over 3,000 rows than to start" in capsys.readouterr().err


NO_RECORDS = [
    {"score": [{"rows": 1}]},
    {"score": [cost("500", "36", "0"), cost("1000", "72", "9")]},
    {"score": [cost(500, "36", 0), cost(1000, "72", 9)]},
    {"score": [cost(500, 36, None), cost(1000, 72, [])]},
    {"score": [cost(500, 36, 0), cost(500, 72, 9)]},
    {"score": [cost(0, 36, 0), cost(0, 72, 9)]},
]


@pytest.mark.parametrize("text", [None, "{", "[]", *map(json.dumps, NO_RECORDS)])
def test_what_is_no_record_is_one_line(run_script, capsys, tmp_path, text):
    path = tmp_path / "growth.json"
    if text is not None:
        path.write_text(text)
    assert run_script("benchmarks/costs", path) == 2
    err = capsys.readouterr().err
    assert "no record of growth.py" in err and err.count("\n") == 1

from __future__ import annotations

import json
import sys

import pytest
from tiny_encoders import write_average


@pytest.fixture
def bench(load_script, monkeypatch):
    module = load_script("benchmarks/export")

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["benchmarks/export", *map(str, words)])
        return module.main()

    return run


@pytest.fixture
def model(tmp_path):
    return write_average(tmp_path / "model", hidden_size=8)


@pytest.fixture
def sts(tmp_path):
    folder = tmp_path / "sts" / "STS16-en-test"
    folder.mkdir(parents=True)
    pairs = [f"w{place} w{place + 1} w3\tw{place} w{(place * 3) % 10}" for place in range(9)]
    (folder / "STS.input.headlines.txt").write_text("\n".join(pairs) + "\n")
    (folder / "STS.gs.headlines.txt").write_text("\n".join(str(place % 5) for place in range(9)) + "\n")
    return folder.parent


@pytest.mark.parametrize("clock", ["wall", "processor"])
def test_the_table_has_every_form_and_the_last_line_is_its_json_object(bench, model, sts, capsys, clock):
    assert bench("--model", model, "--data", sts, "--rounds", "1", "--clock", clock) == 0
    lines = capsys.readouterr().out.splitlines()
    report = json.loads(lines[-1])
    assert f"{clock} seconds" in lines[0]
    assert list(report) == ["torch float32", "torch float16", "onnx float32", "onnx float16", "onnx int8"]
    assert [line[:15].strip() for line in lines[2:-1]] == list(report)
    base = report["torch float32"]
    assert base["max_distance"] < 1e-12 and base["sts16"] is not None
    assert report["onnx float32"]["sts16"] == pytest.approx(base["sts16"], abs=1e-3)
    assert 0 < report["onnx float16"]["max_distance"] < report["onnx int8"]["max_distance"] < 1e-3
    assert all(row["sentences_per_second"] > 0 and row["megabytes"] > 0 for row in report.values())


@pytest.mark.parametrize(
    "words", [["--rounds", "0"], ["--data", "absent"], ["--model", "absent"], ["--data", "empty"]]
)
def test_bad_arguments_are_one_line(bench, model, sts, tmp_path, monkeypatch, capsys, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    assert bench("--model", model, "--data", sts, *words) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1

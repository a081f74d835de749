from __future__ import annotations

import gzip
import json

import pytest

pytest.importorskip("morfessor")


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "text.tsv.gz"
    lines = [f"x{line}\tTalossa on {line % 7} kissaa, autossa {line % 3}." for line in range(60)]
    path.write_bytes(gzip.compress("\n".join(lines).encode()))
    return path


def test_both_segment_alike_and_the_last_line_has_the_ratios(run_script, text, capsys):
    assert run_script("benchmarks/segment", "--text", text, "--column", 1, "--sentences", 20, "--rounds", 1) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("20 sentences, 160 tokens, ")
    assert lines[1] == "different words with another segmentation (ties): 0"
    ratios = json.loads(lines[-1])
    keys = ["segment_vs_morfessor", "segment_vs_morfessor_remembering", "segment_vs_morfessor_different_words"]
    assert list(ratios) == keys and all(ratio > 0 for ratio in ratios.values())


def test_bad_numbers_and_files_are_one_line(run_script, text, capsys):
    for words, named in (
        (["--rounds", 0], "--rounds"),
        (["--text", "/absent"], "no such file"),
        (["--text", text, "--column", 2], ":1: no field 2"),
    ):
        assert run_script("benchmarks/segment", *words) == 2
        error = capsys.readouterr().err
        assert error.count("\n") == 1 and named in error

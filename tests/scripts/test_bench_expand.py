from __future__ import annotations

import json
from functools import partial

import pytest


@pytest.fixture(autouse=True, scope="module")
def libraries():
    """What the benchmark compares; importing it takes longer than collecting the tests of a folder."""
    pytest.importorskip("nltk")
    pytest.importorskip("denckring_en_pos")


@pytest.fixture
def bench(run_script, monkeypatch):
    # The peer's path of data is a list that the benchmark adds its folder to.
    monkeypatch.setattr("nltk.data.path", [])
    return partial(run_script, "benchmarks/expand")


def test_both_have_the_same_definitions_and_the_last_line_has_the_ratio(bench, tmp_path, tiny_wordnet, capsys):
    path = tmp_path / "text.txt"
    path.write_text("The boy saw a dog.\nShe is a teacher.\n")
    words = ["--text", path, "--wordnet", tiny_wordnet, "--sentences", 60, "--loop-sentences", 20]
    assert bench(*words, "--rounds", 1) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("60 sentences of 4.5 words, ")
    assert lines[1].endswith("are the same") and int(lines[1].split()[0]) > 3
    assert json.loads(lines[-1])["expand_vs_nltk"] > 0


def test_the_loop_replaces_words_by_their_first_definitions(load_script, tiny_wordnet, tmp_path, monkeypatch):
    monkeypatch.setattr("nltk.data.path", [])
    module = load_script("benchmarks/expand")
    reader = module.nltk_reader(tiny_wordnet, tmp_path)

    class Tagger:
        def tag(self, words):
            return ["NOUN|-" for _ in words]

    assert module.plain_loop(["The boys, the apple"], reader, Tagger(), 1.0) == [
        "The a youthful male person, the fruit with red or yellow skin"
    ]


def test_bad_numbers_are_one_line(bench, capsys):
    assert bench("--sentences", 0) == 2
    assert capsys.readouterr().err == "benchmarks/expand: error: --sentences must be at least 1, not 0\n"
    assert bench("--share", 2) == 2
    assert "--share must be between 0 and 1" in capsys.readouterr().err

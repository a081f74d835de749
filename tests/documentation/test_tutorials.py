"""Each tutorial runs as it is printed, from top to bottom; only sizes are smaller where a comment in it says so."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from documented_blocks import commands_of, quick_blocks, run_line

TUTORIALS = Path(__file__).resolve().parents[2] / "docs" / "tutorials"
GOES_ON_WITH = {
    "train_on_my_pairs": ["make_paraphrase_data"],
    "mine_translations": ["make_paraphrase_data"],
    "publish": ["make_paraphrase_data", "train_on_my_pairs"],
}
"""Whose folders a tutorial needs, beside its own."""


@pytest.fixture(scope="module")
def run_tutorial(tmp_path_factory):
    """Runs a tutorial, once, in the folder of all of them, after those whose folders it needs."""
    place = tmp_path_factory.mktemp("tutorials")
    finished = set()

    def run(name, monkeypatch):
        monkeypatch.chdir(place)
        monkeypatch.setenv("HF_DATASETS_CACHE", str(place / "cache"))
        for each in [*GOES_ON_WITH.get(name, []), name]:
            if each not in finished:
                run_blocks((TUTORIALS / f"{each}.md").read_text(encoding="utf-8"), monkeypatch)
                finished.add(each)
        return place

    return run


def run_blocks(text, monkeypatch):
    names = {}
    for language, code in quick_blocks(text):
        if language == "bash":
            for line in commands_of(code):
                if "wordllama" not in line or importlib.util.find_spec("wordllama"):
                    run_line(line, monkeypatch)
        elif language == "python":
            exec(compile(code, "a tutorial", "exec"), names)


@pytest.mark.parametrize("name", sorted(path.stem for path in TUTORIALS.glob("*.md")))
def test_a_tutorial_runs_as_it_is_printed(name, run_tutorial, monkeypatch, capsys):
    run_tutorial(name, monkeypatch)
    text = (TUTORIALS / f"{name}.md").read_text(encoding="utf-8")
    assert {"python", "bash"} <= {language for language, _ in quick_blocks(text)}


def test_the_tutorials_make_what_they_promise(run_tutorial, monkeypatch, capsys):
    place = run_tutorial("find_duplicates", monkeypatch)
    assert (place / "duplicates" / "README.md").is_file()
    capsys.readouterr()
    run_tutorial("publish", monkeypatch)
    assert (place / "my_avg_int8" / "provenance.json").is_file()

"""Each tutorial runs as printed, from top to bottom, with the smaller sizes of its `quick:` comments."""

from __future__ import annotations

from pathlib import Path

import pytest
from documented_blocks import commands_of, quick_blocks, run_line

TUTORIALS = Path(__file__).resolve().parents[2] / "docs" / "tutorials"
CONTINUES = {
    "train_on_my_pairs": ["make_paraphrase_data"],
    "mine_translations": ["make_paraphrase_data"],
    "encoder_of_my_language": ["make_paraphrase_data"],
    "publish": ["make_paraphrase_data", "train_on_my_pairs"],
}
"""The tutorials whose folders a tutorial needs."""


@pytest.fixture(scope="module")
def run_tutorial(tmp_path_factory):
    """Run a tutorial once, after the tutorials that it continues, in one common folder."""
    folder = tmp_path_factory.mktemp("tutorials")
    finished = set()

    def run(name, monkeypatch):
        monkeypatch.chdir(folder)
        monkeypatch.setenv("HF_DATASETS_CACHE", str(folder / "cache"))
        for each in [*CONTINUES.get(name, []), name]:
            if each not in finished:
                names = {}
                for language, code in quick_blocks((TUTORIALS / f"{each}.md").read_text(encoding="utf-8")):
                    if language == "bash":
                        for line in commands_of(code):
                            run_line(line, monkeypatch)
                    elif language == "python":
                        exec(compile(code, "a tutorial", "exec"), names)
                finished.add(each)

    return run


@pytest.mark.parametrize("name", sorted(path.stem for path in TUTORIALS.glob("*.md")))
def test_a_tutorial_runs_as_printed(name, run_tutorial, monkeypatch, capsys):
    run_tutorial(name, monkeypatch)
    text = (TUTORIALS / f"{name}.md").read_text(encoding="utf-8")
    assert {"python", "bash"} <= {language for language, _ in quick_blocks(text)}

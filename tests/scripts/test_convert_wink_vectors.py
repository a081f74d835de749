from __future__ import annotations

import json
import sys

import pytest


@pytest.fixture
def script(load_script):
    return load_script("studies/convert_wink_vectors")


def test_each_word_has_the_numbers_of_its_vector_without_norm_and_rank(script, tmp_path, monkeypatch):
    source, target = tmp_path / "wink.json", tmp_path / "glove.txt"
    numbers = [place / 8 for place in range(100)]
    source.write_text(json.dumps({"vectors": {"dog": [*numbers, 4.5, 17]}}))
    monkeypatch.setattr(sys, "argv", ["convert_wink_vectors.py", str(source), str(target)])
    script.main()
    word, *written = target.read_text().split()
    assert word == "dog" and list(map(float, written)) == numbers


def test_a_call_without_its_files_says_what_they_are(script, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["convert_wink_vectors.py"])
    with pytest.raises(SystemExit) as ended:
        script.main()
    assert ended.value.code == 2 and "source, target" in capsys.readouterr().err

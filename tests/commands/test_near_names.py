"""Whatever is misspelled, the nearest right name is in the one line of the error."""

from __future__ import annotations

import pytest

from hf_paraphrase.commands import main


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    (tmp_path / "bitext").mkdir()
    (tmp_path / "sentences.txt").write_text("a\n")
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("evalute", "did you mean evaluate?"),
        ("prepare bitxt", "did you mean bitext?"),
        ("analyze gats", "did you mean gates?"),
        ("filter --pars x --output y", "did you mean --pairs?"),
        ("encode --model builtin --ouput x --input y", "did you mean --output?"),
        ("evaluate --data x --suite stss", "did you mean sts?"),
        ("evaluate --data x --baseline wordlama", "did you mean wordllama?"),
        ("train-encoder --pairs x --output y --model-type grna", "did you mean gran?"),
        ("train-encoder --pairs bitex --output y", "did you mean bitext?"),
        ("encode --model buildin --input sentences.txt", "did you mean builtin?"),
        ("encode --model ./bitex --input sentences.txt", "did you mean bitext?"),
        ("encode --model builtin --input sentence.txt", "did you mean sentences.txt?"),
        ("search --model builtin --corpus sentencs.txt --query x", "did you mean sentences.txt?"),
        ("score --pairs x --output y --measures lenght", "did you mean length?"),
        ("tune --pairs x --output y --dev-data z --filters lenght", "did you mean length?"),
    ],
)
def test_the_nearest_name_is_named(words, meant, capsys):
    assert main(words.split()) == 2
    error = capsys.readouterr().err.splitlines()
    assert meant in error[-1] and error[-1].startswith("hf-paraphrase: error: "), error


@pytest.mark.parametrize("path", ["./quite-another", "/nowhere/at/all", "a" * 5000, ""])
def test_what_is_like_nothing_has_no_hint_and_no_traceback(path, capsys):
    assert main(["encode", "--model", "builtin", "--input", path]) == 2
    error = capsys.readouterr().err
    assert "did you mean" not in error and "Traceback" not in error and error.count("\n") == 1


def test_a_query_may_begin_with_hyphens_and_hold_a_space(capsys):
    assert main(["search", "--model", "builtin", "--corpus", "sentences.txt", "--query", "--not a flag"]) == 0
    assert "a" in capsys.readouterr().out

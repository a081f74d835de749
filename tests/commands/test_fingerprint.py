from __future__ import annotations

import gzip
import hashlib
import json
import re
from pathlib import Path

import pytest

from hf_paraphrase.commands import main
from hf_paraphrase.data.folder import DataFolder
from hf_paraphrase.data.sources.tmx import tmx_texts


@pytest.fixture
def evaluation(tmp_path):
    folder = tmp_path / "eval"
    folder.mkdir()
    (folder / "STS.input.a.txt").write_text("A man is eating food.\tA woman is eating food.\nToo short\tNo\n")
    (folder / "b.txt").write_text("The cat sat down!\nthe CAT sat, down\n")
    return folder


def listed(path: Path) -> list[str]:
    data = path.read_bytes()
    return (gzip.decompress(data) if path.suffix == ".gz" else data).decode().splitlines()


@pytest.mark.parametrize("name", ["held.txt", "held.txt.gz"])
def test_the_list_has_the_documented_fingerprints_sorted_and_each_once(evaluation, tmp_path, name):
    assert main(["fingerprint", "--data", str(evaluation), "--output", str(tmp_path / name)]) == 0
    texts = ("a man is eating food", "a woman is eating food", "the cat sat down")
    assert listed(tmp_path / name) == sorted(hashlib.sha256(text.encode()).hexdigest()[:16] for text in texts)


def test_data_and_text_may_be_given_together_and_text_is_one_sentence_a_line(evaluation, tmp_path):
    (tmp_path / "lines.txt").write_text("one two\tthree four\n\nfive six seven eight\n")
    words = ["--data", str(evaluation), "--text", str(tmp_path / "lines.txt"), "--output", str(tmp_path / "l.txt")]
    assert main(["fingerprint", *words]) == 0
    found = set(listed(tmp_path / "l.txt"))
    assert len(found) == 5
    for text in ("one two three four", "five six seven eight"):
        assert hashlib.sha256(text.encode()).hexdigest()[:16] in found


def test_the_same_sets_give_the_same_bytes(evaluation, tmp_path):
    for name in ("a.txt.gz", "b.txt.gz"):
        assert main(["fingerprint", "--data", str(evaluation), "--output", str(tmp_path / name)]) == 0
    assert (tmp_path / "a.txt.gz").read_bytes() == (tmp_path / "b.txt.gz").read_bytes()


def test_a_list_removes_the_same_training_rows_as_the_folder_it_was_made_of(evaluation, tmp_path):
    rows = ["A man is eating food", "the cat sat down", "clean one is here", "a woman is EATING food", "too short"]
    (tmp_path / "a.tsv").write_text("".join(f"phrase {i}\t{row}\n" for i, row in enumerate(rows)))
    assert main(["fingerprint", "--data", str(evaluation), "--output", str(tmp_path / "held.txt.gz")]) == 0
    kept = {}
    for name, against in (("folder", evaluation), ("list", tmp_path / "held.txt.gz")):
        words = ["--tsv", str(tmp_path / "a.tsv"), "--source-lang", "fr", "--target-lang", "en"]
        words += ["--decontaminate", str(against), "--output", str(tmp_path / name)]
        assert main(["prepare", "bitext", *words]) == 0
        kept[name] = DataFolder(tmp_path / name).table()["target"].to_pylist()
        record = json.loads((tmp_path / name / "provenance.json").read_text())
        assert record["results"]["counts"]["train"]["contaminated"] == 3
    assert kept["folder"] == kept["list"] == ["clean one is here", "too short"]


def test_a_translation_memory_is_an_evaluation_set_too(tmp_path):
    path = tmp_path / "eval.tmx"
    path.write_text(
        "<tmx><body><tu><tuv lang='fr'><seg>une phrase de quatre mots</seg></tuv>"
        "<tuv lang='en'><seg>a sentence of four words</seg></tuv></tu></body></tmx>"
    )
    assert sum(map(len, tmx_texts(path))) == 2
    assert main(["fingerprint", "--data", str(path), "--output", str(tmp_path / "l.txt")]) == 0
    assert len(listed(tmp_path / "l.txt")) == 2


@pytest.mark.parametrize(
    ("words", "wording"),
    [
        (["--output", "l.txt"], "no set is given"),
        (["--data", "eval", "--output", "l.csv"], "must end in .txt"),
        (["--data", "absent", "--output", "l.txt"], "absent: no such file"),
        (["--text", "short.txt", "--output", "l.txt"], "no line has 4 words"),
        (["--text", "latin1.txt", "--output", "l.txt"], "latin1.txt:1: not UTF-8"),
        (["--data", "eval", "--output", "kept.txt"], "the output file exists.*--overwrite"),
        (["--data", "eval", "--output", "folder.txt"], "is a folder"),
    ],
)
def test_bad_input_is_one_line_and_harms_nothing(evaluation, tmp_path, monkeypatch, capsys, words, wording):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "short.txt").write_text("one two three\n")
    (tmp_path / "latin1.txt").write_bytes(b"caf\xe9\n")
    (tmp_path / "kept.txt").write_text("kept")
    (tmp_path / "folder.txt").mkdir()
    assert main(["fingerprint", *words]) == 2
    error = capsys.readouterr().err
    assert re.search(wording, error), error
    assert error.count("\n") == 1
    assert (tmp_path / "kept.txt").read_text() == "kept"
    assert not (tmp_path / "l.txt").exists()
    assert not list(tmp_path.glob(".*"))

from __future__ import annotations

import gzip
import hashlib
import json

import pytest
import torch

from hf_paraphrase.commands import main
from hf_paraphrase.data.decontamination import LIST_HEADER


@pytest.fixture
def evaluation(tmp_path):
    folder = tmp_path / "eval"
    folder.mkdir()
    (folder / "STS.input.a.txt").write_text("A man is eating food.\tA woman is eating food.\nToo short\tNo\n")
    (folder / "b.txt").write_text("The cat sat down!\nthe CAT sat, down\n")
    return folder


def test_the_list_has_the_documented_fingerprints_sorted_and_each_once(evaluation, tmp_path):
    path = tmp_path / "held.txt.gz"
    assert main(["fingerprint", "--data", str(evaluation), "--output", str(path)]) == 0
    texts = ("a man is eating food", "a woman is eating food", "the cat sat down")
    digits = sorted(hashlib.sha256(text.encode()).hexdigest()[:16] for text in texts)
    assert gzip.decompress(path.read_bytes()).decode().splitlines() == [LIST_HEADER, *digits]


def test_env_names_the_versions_and_devices(capsys):
    assert main(["env", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["torch"] == torch.__version__ and facts["accelerators"]
    assert main(["env"]) == 0
    assert f"torch{' ' * 17}{torch.__version__}" in capsys.readouterr().out


def test_a_text_file_in_place_of_a_data_folder_is_told_how_to_become_one(tmp_path, capsys):
    (tmp_path / "train.en").write_text("a\tb\n")
    words = ["train-encoder", "--pairs", str(tmp_path / "train.en"), "--output", str(tmp_path / "m")]
    assert main(words) == 2
    err = capsys.readouterr().err
    assert "train.en: this is a file, not a data folder" in err
    assert "hf-paraphrase prepare pairs --tsv" in err


def test_pairs_in_place_of_bitext_are_told_by_their_columns_and_not_by_a_missing_split(artefacts, tmp_path, capsys):
    assert main(["train-nmt", "--bitext", str(artefacts["pairs"]), "--output", str(tmp_path / "m")]) == 2
    err = capsys.readouterr().err
    assert "missing columns source, target" in err and "validation" not in err

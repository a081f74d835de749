from __future__ import annotations

import gzip
import hashlib
import json
from pathlib import Path

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


def listed(path: Path) -> list[str]:
    data = path.read_bytes()
    return (gzip.decompress(data) if path.suffix == ".gz" else data).decode().splitlines()


@pytest.mark.parametrize("name", ["held.txt", "held.txt.gz"])
def test_the_list_has_the_documented_fingerprints_sorted_and_each_once(evaluation, tmp_path, name):
    assert main(["fingerprint", "--data", str(evaluation), "--output", str(tmp_path / name)]) == 0
    texts = ("a man is eating food", "a woman is eating food", "the cat sat down")
    digits = sorted(hashlib.sha256(text.encode()).hexdigest()[:16] for text in texts)
    assert listed(tmp_path / name) == [LIST_HEADER, *digits]


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

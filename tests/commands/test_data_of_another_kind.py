from __future__ import annotations

import pyarrow as pa
import pytest

from hf_paraphrase.commands import main
from hf_paraphrase.data.folder import write_split


@pytest.fixture
def pairs(tmp_path):
    table = pa.table({"sentence1": ["a", "b"], "sentence2": ["c", "d"], "score": [1.0, 2.0]})
    for split in ("train", "test"):
        write_split(tmp_path / "pairs", split, [table], table.schema)
    return tmp_path / "pairs"


def test_a_text_file_in_place_of_a_data_folder_is_told_how_to_become_one(tmp_path, capsys):
    (tmp_path / "train.en").write_text("a\tb\n")
    words = ["train-encoder", "--pairs", str(tmp_path / "train.en"), "--output", str(tmp_path / "m")]
    assert main(words) == 2
    err = capsys.readouterr().err
    assert "train.en: this is a file, not a data folder" in err and "hf-paraphrase prepare pairs --tsv" in err


def test_pairs_in_place_of_bitext_are_told_by_their_columns_and_not_by_a_missing_split(pairs, tmp_path, capsys):
    assert main(["train-nmt", "--bitext", str(pairs), "--output", str(tmp_path / "m")]) == 2
    err = capsys.readouterr().err
    assert "no bitext: it lacks the columns source and target" in err and "prepare bitext" in err
    assert "validation" not in err


def test_a_graded_data_folder_under_the_suite_of_sts_files_is_told_its_suite(pairs, capsys):
    assert main(["evaluate", "--data", str(pairs), "--baseline", "words"]) == 2
    assert "for a data folder with a score: --suite graded --split SPLIT" in capsys.readouterr().err
    assert main(["evaluate", "--data", str(pairs), "--baseline", "words", "--suite", "graded", "--split", "test"]) == 0

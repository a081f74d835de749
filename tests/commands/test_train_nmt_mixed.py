"""Training on several bitexts at once."""

from __future__ import annotations

import json
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hf_paraphrase.commands import main

SMALL = "--vocab-size 60 --hidden-size 8 --embedding-size 6 --epochs 1 --batch-size 8 --evaluations 1 --precision fp32"


def train(output, *bitexts):
    return main(["train-nmt", "--output", str(output), *SMALL.split(), "--bitext", *map(str, bitexts)])


@pytest.fixture
def other(tiny_bitext, tmp_path):
    """The same folder with its sentences turned round, and a function that rewrites a column."""
    folder = tmp_path / "other"
    shutil.copytree(tiny_bitext, folder)

    def rewrite(column, change):
        for path in (folder / "data").glob("train-*.parquet"):
            table = pq.read_table(path)
            values = pa.array([change(value) for value in table[column].to_pylist()], table.schema.field(column).type)
            pq.write_table(table.set_column(table.schema.names.index(column), column, values), path)

    rewrite("target", lambda text: " ".join(reversed(text.split())))
    return folder, rewrite


def test_several_bitexts_are_mixed_and_one_named_twice_counts_twice(tiny_bitext, other, tmp_path):
    assert train(tmp_path / "model", tiny_bitext, other[0], tiny_bitext) == 0
    record = json.loads((tmp_path / "model" / "provenance.json").read_text())
    assert record["results"]["training_pairs"] == 180
    assert [item["name"] for item in record["inputs"]] == [tiny_bitext.name, "other"]
    assert f"`{tiny_bitext.name} + other + {tiny_bitext.name}`" in (tmp_path / "model" / "README.md").read_text()


def test_bitext_of_other_languages_is_refused(tiny_bitext, other, tmp_path, capsys):
    folder, rewrite = other
    rewrite("source_lang", lambda _: "de")
    assert train(tmp_path / "model", tiny_bitext, folder) == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert f"{folder}: this bitext is de→" in error and not (tmp_path / "model").exists()


def test_only_the_first_bitext_needs_a_dev_set(tiny_bitext, other, tmp_path, capsys):
    folder, _ = other
    for path in (folder / "data").glob("validation-*"):
        path.unlink()
    assert train(tmp_path / "model", tiny_bitext, folder) == 0
    assert train(tmp_path / "again", folder, tiny_bitext) == 2
    assert "no split `validation`" in capsys.readouterr().err


def test_a_sample_is_drawn_of_all_pairs_and_the_same_each_time(tiny_bitext, other, tmp_path):
    from hf_paraphrase.translation.bitext import read_bitext
    from hf_paraphrase.translation.train import _sample

    words = ["--output", str(tmp_path / "model"), *SMALL.split(), "--max-pairs", "25"]
    assert main(["train-nmt", *words, "--bitext", str(tiny_bitext), str(other[0])]) == 0
    record = json.loads((tmp_path / "model" / "provenance.json").read_text())
    assert record["results"]["training_pairs"] == 25 and record["settings"]["max_pairs"] == 25
    table = read_bitext(str(tiny_bitext), "train")
    drawn = [_sample(table, 25, seed)["target"].to_pylist() for seed in (0, 0, 1)]
    assert drawn[0] == drawn[1] != drawn[2] and len(set(drawn[0]) - set(table["target"].to_pylist())) == 0

from __future__ import annotations

import json
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from train_nmt_runs import train

from hf_paraphrase.commands import main
from hf_paraphrase.translation.loading import load_translation_model

SMALL = "--vocab-size 60 --hidden-size 8 --embedding-size 6 --epochs 1 --batch-size 8 --evaluations 1 --precision fp32"


def train_mixed(output, *bitexts):
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
    assert train_mixed(tmp_path / "model", tiny_bitext, other[0], tiny_bitext) == 0
    record = json.loads((tmp_path / "model" / "provenance.json").read_text())
    assert record["results"]["training_pairs"] == 180
    assert [item["name"] for item in record["inputs"]] == [tiny_bitext.name, "other"]
    assert f"`{tiny_bitext.name} + other + {tiny_bitext.name}`" in (tmp_path / "model" / "README.md").read_text()


def test_bitext_of_other_languages_is_refused(tiny_bitext, other, tmp_path, capsys):
    folder, rewrite = other
    rewrite("source_lang", lambda _: "de")
    assert train_mixed(tmp_path / "model", tiny_bitext, folder) == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert f"{folder}: this bitext is de→" in error and not (tmp_path / "model").exists()


@pytest.fixture(scope="module")
def continued(trained, tiny_bitext, tmp_path_factory):
    folder = tmp_path_factory.mktemp("continued") / "model"
    words = ["--initial-model", str(trained), "--hidden-size", "20", "--vocab-size", "70", "--dropout", "0.0"]
    assert train(tiny_bitext, folder, *words) == 0
    return folder


def test_a_run_that_goes_on_begins_where_the_model_is(trained, tiny_bitext, tmp_path):
    # Steps of length zero: whatever is learnt, the weights are still those of the model.
    words = ["--initial-model", str(trained), "--learning-rate", "1e-12", "--seed", "9"]
    assert train(tiny_bitext, tmp_path / "model", *words) == 0
    before, _ = load_translation_model(trained)
    after, _ = load_translation_model(tmp_path / "model")
    for (name, old), new in zip(before.state_dict().items(), after.state_dict().values(), strict=True):
        torch.testing.assert_close(new, old, msg=name, atol=1e-6, rtol=0)


def test_provenance_and_card_name_the_model_it_went_on_from(trained, continued):
    inputs = [entry["name"] for entry in json.loads((continued / "provenance.json").read_text())["inputs"]]
    assert trained.name in inputs and len(inputs) == 2
    assert f"went on from the weights and the units of `{trained.name}`" in (continued / "README.md").read_text()
    assert "went on from" not in (trained / "README.md").read_text()


def test_a_model_of_other_languages_or_another_kind_is_one_line(trained, tiny_bitext, tmp_path, capsys):
    other = tmp_path / "other"
    other.mkdir()
    for path in trained.iterdir():
        (other / path.name).write_bytes(path.read_bytes())
    config = json.loads((other / "config.json").read_text())
    (other / "config.json").write_text(json.dumps({**config, "source_lang": "de"}))
    for folder, problem in [
        (other, "de→en"),
        (tmp_path / "none", "no such file or folder"),
        (tiny_bitext, "config.json"),
    ]:
        assert train(tiny_bitext, tmp_path / "model", "--initial-model", str(folder)) == 2
        assert problem in capsys.readouterr().err.strip().splitlines()[-1]
        assert not (tmp_path / "model").exists()

from __future__ import annotations

import dataclasses
import json
import shutil
from types import SimpleNamespace

import pyarrow as pa
import pytest

from hf_paraphrase.commands import main
from hf_paraphrase.data.folder import DataFolder, write_split
from hf_paraphrase.tokenization.subword import train_bpe_tokenizer
from hf_paraphrase.translation.bitext import check_languages
from hf_paraphrase.translation.lexical_table import LexicalTable, unit_fingerprint


def config(source, target):
    return SimpleNamespace(config=SimpleNamespace(source_lang=source, target_lang=target))


@pytest.mark.parametrize(
    ("own", "language"), [(None, "fr"), ("fr", None), ("fr", ""), ("fr", "und"), ("fr", "fr-CA"), ("fra", "fr")]
)
def test_languages_that_are_unknown_or_the_same_pass(tmp_path, own, language):
    columns = {"source": ["un"], "target": ["one"], "source_lang": [language], "target_lang": ["en"]}
    columns = {name: texts for name, texts in columns.items() if texts != [None]}
    write_split(tmp_path, "train", [pa.table(columns)], pa.table(columns).schema)
    check_languages("model", config(own, "en"), DataFolder(tmp_path), "train")


@pytest.mark.parametrize(
    ("verb", "side", "problem"),
    [
        ("back-translate", "source", "the source side is fr, but the model {} translates de"),
        ("evaluate-nmt", "target", "the target side is en, but the model {} translates into de"),
        ("lexical-table", "target", "the target side is en, but the model {} translates into de"),
    ],
)
def test_bitext_of_other_languages_than_the_models_is_one_line(
    tiny_model, tiny_bitext, tmp_path, capsys, verb, side, problem
):
    model = shutil.copytree(tiny_model, tmp_path / "model")
    settings = json.loads((model / "config.json").read_text())
    (model / "config.json").write_text(json.dumps({**settings, f"{side}_lang": "de"}))
    words = ["--model", str(model), "--bitext", str(tiny_bitext), "--output", str(tmp_path / "out")]
    assert main([verb, *words]) == 2
    assert f"{tiny_bitext}: {problem.format(model)}" in capsys.readouterr().err.splitlines()[-1]
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_a_table_of_another_model_with_as_many_units_is_refused_and_one_that_names_none_is_used(
    tiny_model, tiny_bitext, tmp_path, capsys
):
    own, other = tmp_path / "own.safetensors", tmp_path / "other.safetensors"
    words = ["--model", str(tiny_model), "--bitext", str(tiny_bitext)]
    assert main(["lexical-table", *words, "--output", str(own)]) == 0
    words += ["--split", "test", "--num-beams", "2", "--num-return-sequences", "1", "--max-sentences", "2"]
    command = ["back-translate", *words, "--output", str(tmp_path / "out"), "--lexical-table", str(other)]
    dataclasses.replace(LexicalTable.load(own), units="0" * 64).save(other)
    assert main(command) == 2
    assert f"{other}: the lexical table is about the units of another model than" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    dataclasses.replace(LexicalTable.load(own), units=None).save(other)
    assert main(command) == 0


def test_the_fingerprint_of_units_changes_with_their_numbers():
    tokenizers = [train_bpe_tokenizer(["one two", "two three"], 20), train_bpe_tokenizer(["one two", "two four"], 20)]
    assert len({unit_fingerprint(tokenizer) for tokenizer in [*tokenizers, tokenizers[0]]}) == 2

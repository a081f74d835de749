from __future__ import annotations

import dataclasses
import json
import shutil

import pyarrow as pa
import pytest

from hf_paraphrase.commands import main
from hf_paraphrase.data.folder import write_split
from hf_paraphrase.translation.bitext import check_languages
from hf_paraphrase.translation.lexical_table import LexicalTable
from hf_paraphrase.translation.loading import load_translation_model, unit_fingerprint


class Model:
    def __init__(self, source, target):
        self.config = self
        self.source_lang, self.target_lang = source, target


@pytest.fixture
def make_bitext(tmp_path):
    """Writes a bitext of one pair that says of its sides what is given."""

    def make(**languages):
        table = pa.table({"source": ["un"], "target": ["one"], **{name: [code] for name, code in languages.items()}})
        write_split(tmp_path / "languages", "train", [table], table.schema)
        return str(tmp_path / "languages")

    return make


def model_of(tiny_model, folder, **languages):
    """Copies a model that says that it translates between other languages."""
    shutil.copytree(tiny_model, folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, **languages}))
    return folder


@pytest.mark.parametrize(("own", "language"), [(None, "fr"), ("fr", None), ("fr", "und"), ("fra", "fr-CA")])
def test_languages_that_are_unknown_or_the_same_pass(make_bitext, own, language):
    check_languages("model", Model(own, "en"), make_bitext(source_lang=language, target_lang="en"), "train")
    check_languages("model", Model("en", own), make_bitext(source_lang="en", target_lang=language), "train")


@pytest.mark.parametrize(
    ("verb", "languages", "problem"),
    [
        ("back-translate", {"source_lang": "de"}, "the source side is fr, but the model {} translates de"),
        ("lexical-table", {"target_lang": "de"}, "the target side is en, but the model {} translates into de"),
    ],
)
def test_bitext_of_other_languages_than_the_models_is_one_line(
    tiny_model, tiny_bitext, tmp_path, capsys, verb, languages, problem
):
    model = model_of(tiny_model, tmp_path / "model", **languages)
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
    shutil.copytree(tiny_model, tmp_path / "model")
    path = tmp_path / "model" / "tokenizer.json"
    tokenizer = json.loads(path.read_text())
    vocabulary = tokenizer["model"]["vocab"]
    first, second = list(vocabulary)[-2:]
    vocabulary[first], vocabulary[second] = vocabulary[second], vocabulary[first]
    path.write_text(json.dumps(tokenizer))
    fingerprints = {unit_fingerprint(load_translation_model(folder)[1]) for folder in (tiny_model, tmp_path / "model")}
    assert len(fingerprints) == 2
    words += ["--split", "test", "--num-beams", "2", "--num-return-sequences", "1", "--max-sentences", "2"]
    command = ["back-translate", *words, "--output", str(tmp_path / "out"), "--lexical-table"]
    assert main([*command, str(own)]) == 0
    shutil.rmtree(tmp_path / "out")
    dataclasses.replace(LexicalTable.load(own), units="0" * 64).save(other)
    assert main([*command, str(other)]) == 2
    assert f"{other}: the lexical table is about the units of another model than" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    dataclasses.replace(LexicalTable.load(own), units=None).save(other)
    assert main([*command, str(other)]) == 0

from __future__ import annotations

import json
import shutil

import pytest

from hf_paraphrase.commands import main
from hf_paraphrase.commands.translation_languages import check_source_language
from hf_paraphrase.errors import InputError
from hf_paraphrase.translation.lexical_table import LexicalTable
from hf_paraphrase.translation.loading import load_translation_model
from hf_paraphrase.translation.unit_fingerprint import unit_fingerprint


class Model:
    def __init__(self, language):
        self.config = self
        self.source_lang = language


class Ensemble:
    def __init__(self, *languages):
        self.members = [Model(language) for language in languages]


@pytest.fixture
def german_model(tiny_model, tmp_path):
    """A model that says that it translates German."""
    model = tmp_path / "german"
    shutil.copytree(tiny_model, model)
    config = json.loads((model / "config.json").read_text())
    (model / "config.json").write_text(json.dumps({**config, "source_lang": "de"}))
    return model


@pytest.mark.parametrize(
    ("own", "language"), [(None, "fr"), ("fr", None), ("fr", ""), ("fr", "und"), ("fr", "fr-CA"), ("fra", "fr")]
)
def test_languages_that_are_unknown_or_the_same_pass(own, language):
    check_source_language(["model"], Model(own), "bitext", language)


def test_one_member_of_an_ensemble_with_another_language_is_refused():
    check_source_language(["a", "b"], Ensemble("fr", "fr"), "bitext", "fr")
    with pytest.raises(InputError, match="the source side is fr, but the model b translates cs"):
        check_source_language(["a", "b"], Ensemble("fr", "cs"), "bitext", "fr")


@pytest.mark.parametrize("verb", ["back-translate", "evaluate-nmt", "lexical-table"])
def test_bitext_of_another_language_than_the_models_is_one_line(german_model, tiny_bitext, tmp_path, capsys, verb):
    words = ["--model", str(german_model), "--bitext", str(tiny_bitext), "--output", str(tmp_path / "out")]
    assert main([verb, *words]) == 2
    err = capsys.readouterr().err.splitlines()[-1]
    assert f"{tiny_bitext}: the source side is fr, but the model {german_model} translates de" in err
    assert [path.name for path in tmp_path.iterdir()] == ["german"]


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
    LexicalTable.load(own).save(other, units="0" * 64)
    assert main([*command, str(other)]) == 2
    assert f"{other}: the lexical table is about the units of another model than" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    LexicalTable.load(own).save(other)
    assert main([*command, str(other)]) == 0

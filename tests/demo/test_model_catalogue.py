"""Which models a page offers."""

from __future__ import annotations

import json
import shutil

import pytest
from safetensors.numpy import load_file, save_file

from hf_paraphrase.demo.model_catalogue import ModelCatalogue
from hf_paraphrase.demo.word_shares import word_shares, word_vectors
from hf_paraphrase.errors import HfParaphraseError, ModelError, UsageError


def test_models_are_found_below_a_folder_after_the_built_in_encoders_and_others_are_left_out(models, monkeypatch):
    catalogue = ModelCatalogue([str(models)])
    assert catalogue.encoders == ["builtin", "multilingual", "avg", "damaged", "gran"]
    assert catalogue.translators == ["nmt", "nmt_back"]
    assert catalogue.models["nmt"].languages == ("fr", "en")
    alone = ModelCatalogue([str(models / "nmt")])
    assert (alone.encoders, alone.translators) == (["builtin", "multilingual"], ["nmt"])
    monkeypatch.chdir(models)
    names = ModelCatalogue(["avg", "builtin", str(models)]).encoders
    assert names == ["builtin", "multilingual", "avg", str(models / "avg"), "damaged", "gran"]


def test_tables_of_other_libraries_are_offered_too(models, tmp_path):
    for name in ("model2vec", "static"):
        shutil.copytree(models / "avg", tmp_path / name)
        weights = load_file(tmp_path / name / "model.safetensors")
        table = {"embeddings" if name == "model2vec" else "embedding.weight": weights["embeddings"]}
        save_file(table, tmp_path / name / "model.safetensors")
        for path in (tmp_path / name).glob("*.py"):
            path.unlink()
    (tmp_path / "model2vec" / "config.json").write_text('{"model_type": "model2vec"}')
    (tmp_path / "static" / "config.json").unlink()
    module = {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.StaticEmbedding"}
    (tmp_path / "static" / "modules.json").write_text(json.dumps([module]))
    catalogue = ModelCatalogue([str(tmp_path)])
    assert catalogue.encoders == ["builtin", "multilingual", "model2vec", "static"]
    for name in catalogue.encoders:
        encoder = catalogue.encoder(name)
        first, second = (word_vectors(encoder, text) for text in ("the doctor", "a car"))
        cosine = float(encoder.similarity("the doctor", "a car")[0, 0])
        assert word_shares(first, second).sum() == pytest.approx(cosine, abs=1e-6)


def test_a_place_without_models_is_refused(tmp_path):
    with pytest.raises(UsageError, match="no sentence encoder"):
        ModelCatalogue([str(tmp_path)])


def test_a_model_is_opened_once_and_one_that_does_not_open_is_refused_when_it_is_used(models):
    catalogue = ModelCatalogue([str(models)])
    with pytest.raises(ModelError):
        catalogue.encoder("damaged")
    assert catalogue.encoder("avg") is catalogue.encoder("avg") and catalogue.encoder("avg").dimension == 8
    for name in ("nmt", "absent", None):
        with pytest.raises(HfParaphraseError):
            catalogue.encoder(name)

"""Which models a page offers, and what opening them means for two users."""

from __future__ import annotations

import json
import shutil
from threading import Event, Thread

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
        with catalogue.encoder(name) as encoder:
            first, second = (word_vectors(encoder, text) for text in ("the doctor", "a car"))
            cosine = float(encoder.similarity("the doctor", "a car")[0, 0])
            assert word_shares(first, second).sum() == pytest.approx(cosine, abs=1e-6)


@pytest.mark.parametrize(("place", "said"), [("absent", "no such folder"), ("other", "no sentence encoder")])
def test_places_without_models_are_refused(models, tmp_path, place, said):
    (tmp_path / "other").mkdir()
    with pytest.raises(UsageError, match=said):
        ModelCatalogue([str(tmp_path / place)])


def test_a_model_that_does_not_open_is_refused_when_it_is_used_and_the_others_are_not(models):
    catalogue = ModelCatalogue([str(models)])
    with pytest.raises(ModelError), catalogue.encoder("damaged"):
        pass
    with catalogue.encoder("avg") as encoder:
        assert encoder.dimension == 8
    for name in ("nmt", "absent", None):
        with pytest.raises(HfParaphraseError), catalogue.encoder(name):
            pass


def test_a_second_user_of_a_model_waits_for_the_first_and_of_another_model_does_not(models):
    catalogue, done = ModelCatalogue([str(models)]), Event()

    def second():
        with catalogue.encoder("avg"):
            done.set()

    with catalogue.encoder("avg") as first:
        thread = Thread(target=second)
        thread.start()
        with catalogue.encoder("gran") as other:
            assert other is not first
        assert not done.wait(0.1)
    thread.join(10)
    assert done.is_set()
    with catalogue.encoder("avg") as again:
        assert again is first and catalogue.new_encoder("avg") is not first

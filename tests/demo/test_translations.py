"""The n-best list of a sentence, and its paraphrases."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from hf_paraphrase import paraphrase
from hf_paraphrase.demo.model_catalogue import ModelCatalogue
from hf_paraphrase.demo.translation_tab import nbest_list, paraphrased, round_trip, shown_rows
from hf_paraphrase.errors import UsageError
from hf_paraphrase.translation.loading import load_translation_model

SOURCE, REFERENCE = "le médecin a acheté une voiture .", "the doctor bought a car ."


@pytest.fixture(scope="module")
def translator(models):
    model, tokenizer = load_translation_model(models / "nmt", device="cpu")
    return model.eval(), tokenizer


@pytest.fixture(scope="module")
def nbest(translator):
    return nbest_list(*translator, SOURCE, REFERENCE, beams=4)


def test_the_list_has_ranks_scores_and_measures(nbest):
    assert nbest.column("rank").to_pylist() == list(range(nbest.num_rows)) and 1 < nbest.num_rows <= 4
    costs, log_probs, lengths = (nbest.column(name).to_numpy() for name in ("cost", "log_prob", "num_tokens"))
    np.testing.assert_allclose(costs, -log_probs / lengths)
    assert set(nbest.column("sentence1").to_pylist()) == {REFERENCE}
    assert all(0 <= value <= 1 for value in nbest.column("bleu").to_pylist() + nbest.column("overlap_1").to_pylist())
    assert shown_rows(nbest, ["rank", "sentence2", "cost"])[0] == [
        0,
        nbest.column("sentence2")[0].as_py(),
        round(costs[0], 3),
    ]


def test_a_round_trip_is_chosen_by_the_languages_of_the_models(models, tmp_path):
    assert round_trip(ModelCatalogue([str(models)])) == ("nmt_back", "nmt"), "for English first"
    assert round_trip(ModelCatalogue([str(models / "nmt")])) is None
    for name in ("one", "other"):
        shutil.copytree(models / "nmt", tmp_path / name)
    assert round_trip(ModelCatalogue([str(tmp_path)])) == ("one", "other"), "no languages fit: as they are given"
    languages = {"source_lang": "eng_Latn", "target_lang": "fra_Latn"}
    assert round_trip(ModelCatalogue([str(models / "nmt")], languages=languages)) == ("nmt", "nmt")


def test_paraphrases_are_those_of_the_verb_and_its_command_is_shown(models):
    catalogue = ModelCatalogue([str(models)])
    sentence = "the doctor bought a car ."
    summary, pairs = paraphrased(catalogue, "nmt_back", "nmt", sentence, 2)
    folders = [str(models / "nmt_back"), str(models / "nmt")]
    expected = paraphrase(sentence, models=folders, num=2)[0]
    assert pairs.column("sentence2").to_pylist() == expected
    assert f"{len(expected)} paraphrases from " in summary
    assert f"hf-paraphrase paraphrase --models {' '.join(folders)} --num 2" in summary
    with pytest.raises(UsageError, match="one model alone"):
        paraphrased(catalogue, "nmt", "nmt", sentence, 2)

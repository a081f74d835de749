"""The n-best list of a sentence, the attention, and the pairs that are kept."""

from __future__ import annotations

import math
import shutil

import numpy as np
import pytest
from datasets import load_dataset

from hf_paraphrase import paraphrase
from hf_paraphrase.artefacts.provenance import read_provenance
from hf_paraphrase.data.folder import DataFolder
from hf_paraphrase.demo.model_catalogue import ModelCatalogue
from hf_paraphrase.demo.paraphrase_tab import paraphrased, round_trip
from hf_paraphrase.demo.translation_tab import drawn_attention, kept_rows, shown_rows
from hf_paraphrase.demo.translations import attention, keep_pairs, nbest_list
from hf_paraphrase.errors import InputError, OutputError, UsageError
from hf_paraphrase.translation.loading import load_translation_model
from hf_paraphrase.translation.scoring import score_translations

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


def test_without_a_reference_there_is_no_overlap_and_nothing_to_keep(translator, tmp_path):
    table = nbest_list(*translator, SOURCE, "", beams=2)
    assert all(math.isnan(value) for name in ("overlap_1", "bleu") for value in table.column(name).to_pylist())
    assert not any(math.isnan(value) for value in table.column("cost").to_pylist())
    assert shown_rows(table, ["bleu"])[0] == [None]
    with pytest.raises(UsageError, match="a pair needs a reference"):
        keep_pairs(tmp_path / "pairs", table, model="nmt")


def test_a_sentence_that_cannot_be_translated_is_refused_in_words(translator):
    with pytest.raises(InputError, match="units, more than 250"):
        nbest_list(*translator, "voiture " * 300, REFERENCE, beams=2)


def test_attention_is_a_distribution_over_the_source_for_each_unit(translator, nbest, models):
    looked = attention(*translator, SOURCE, nbest.column("sentence2")[0].as_py())
    assert looked.weights.shape == (len(looked.target), len(looked.source))
    np.testing.assert_allclose(looked.weights.sum(1), 1, atol=1e-5)
    units = score_translations(*translator, SOURCE, nbest.column("sentence2")[0].as_py()).num_tokens[0]
    assert len(looked.target) == units + 1 and looked.target[-1] == looked.source[-1] == "</s>"
    catalogue = ModelCatalogue([str(models)])
    assert "Attention of translation 1" in drawn_attention(catalogue, ("nmt", nbest), 1)
    assert drawn_attention(catalogue, ("nmt", nbest), 99) == ""


def test_pairs_that_are_kept_make_a_data_folder_that_grows(nbest, tmp_path):
    kept = kept_rows(nbest, [nbest.num_rows - 1, 0])
    assert kept.column("rank").to_pylist() == [0, nbest.num_rows - 1]
    folder = tmp_path / "pairs"
    assert keep_pairs(folder, kept, model="nmt") == 2
    # Once more, and one more: what is there already is not added again.
    assert keep_pairs(folder, nbest.slice(0, 2), model="other") == (3 if nbest.num_rows > 2 else 2)
    found = load_dataset(str(folder), split="train", cache_dir=str(tmp_path / "cache"))
    assert {"id", "sentence1", "sentence2", "rank", "log_prob"} <= set(found.column_names)
    assert set(found["id"]) == {"1"} and len(found) == DataFolder(folder).count()
    assert read_provenance(folder)["settings"] == {"models": ["nmt", "other"]}
    assert "nmt, other" in (folder / "README.md").read_text()


def test_pairs_are_not_written_over_anything_else(nbest, tmp_path, pairs):
    with pytest.raises(UsageError, match="no translation is marked"):
        keep_pairs(tmp_path / "new", nbest.slice(0, 0), model="nmt")
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.txt").write_text("years of work")
    (tmp_path / "file").write_text("years of work")
    for place in ("thesis", "file"):
        with pytest.raises(OutputError, match="the folder contains other files"):
            keep_pairs(tmp_path / place, nbest.slice(0, 1), model="nmt")
    with pytest.raises(OutputError):
        keep_pairs(pairs, nbest.slice(0, 1), model="nmt")
    assert (tmp_path / "thesis" / "chapter.txt").read_text() == "years of work"


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

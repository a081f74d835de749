from __future__ import annotations

import numpy as np
import pytest
from small_runs import write

import hf_paraphrase
from hf_paraphrase.encoders.dev_sets.scorer import measure_translation_retrieval
from hf_paraphrase.errors import InputError

UNIT = np.eye(4, dtype=np.float32)


def test_a_sentence_whose_nearest_is_its_translation_counts():
    sources, targets = ["un", "deux", "trois", "quatre"], ["one", "two", "three", "four"]
    found = measure_translation_retrieval(sources, targets, UNIT, UNIT[[0, 2, 1, 3]])
    del found["margin_error"]
    assert found == {"source_to_target": 50.0, "target_to_source": 50.0, "mean": 50.0, "pairs": 4}
    vectors = UNIT * [[0], [1], [1], [1]]  # of a sentence without known words: it finds nothing
    assert measure_translation_retrieval(sources, targets, vectors, vectors)["mean"] == 75.0
    for constant in (UNIT * 0, UNIT * 0 + 1):  # zero vectors and ties are no hits
        lost = measure_translation_retrieval(sources, targets, constant, constant)
        assert (lost["mean"], lost["margin_error"]) == (0.0, 100.0)
    with pytest.raises(ValueError, match="no pairs"):
        measure_translation_retrieval([], [], UNIT[:0], UNIT[:0])


def test_any_known_translation_is_right_whatever_its_case_and_punctuation():
    sources, targets = ["Un chat.", "un chat", "deux", "trois"], ["a cat", "one cat", "two", "three"]
    vectors = UNIT[[1, 0, 2, 3]]
    assert measure_translation_retrieval(sources, targets, UNIT, vectors)["mean"] == 100.0
    assert measure_translation_retrieval(["un", *sources[1:]], targets, UNIT, vectors)["mean"] == 50.0


def test_the_margin_error_is_that_of_the_formula():
    rng = np.random.default_rng(5)
    sources = rng.normal(size=(40, 6)).astype(np.float32)
    targets = (sources + rng.normal(size=(40, 6)) * 0.6).astype(np.float32)
    unit = [side / np.linalg.norm(side, axis=1, keepdims=True) for side in (sources, targets)]
    cosines = unit[0] @ unit[1].T
    near = [np.sort(matrix, axis=1)[:, -4:].mean(1) for matrix in (cosines, cosines.T)]
    margins = cosines / ((near[0][:, None] + near[1][None]) / 2)
    wrong = []
    for own, margin in ((cosines, margins), (cosines.T, margins.T)):
        candidates = own >= np.sort(own, axis=1)[:, -4:-3]
        wrong.append((np.where(candidates, margin, -np.inf).argmax(1) != np.arange(40)).mean())
    texts = [[f"{side}{n}" for n in range(40)] for side in "ab"]
    found = measure_translation_retrieval(*texts, sources, targets)
    assert found["margin_error"] == pytest.approx(50 * sum(wrong)) != 100 - found["mean"]


def test_evaluate_has_a_line_for_each_pair_of_languages_and_their_mean(tmp_path):
    sides = {"source": ["a cat", "two dogs", "the sun"], "target": ["a cat", "two dogs", "rain"]}
    folder = write(tmp_path / "mixed", "test", **sides, source_lang=["fr", "fr", "de"], target_lang=["en"] * 3)
    found = hf_paraphrase.evaluate(data=folder, suite="translations")
    bitexts = found.record["results"][0]["bitexts"]
    assert {name: row["pairs"] for name, row in bitexts.items()} == {"mixed fr-en": 2, "mixed de-en": 1}
    assert "| mean" in str(found)
    assert found.record["results"][0]["means"]["mean"] == np.mean([row["mean"] for row in bitexts.values()])


def test_evaluate_has_a_line_for_each_bitext_without_pairs_that_lack_a_side(tmp_path):
    sides = {"source": ["a cat sleeps", "two dogs run", ""], "target": ["a cat sleeps", "two dogs run", "the sun"]}
    sides |= {"source_lang": ["fr"] * 3, "target_lang": ["en"] * 3}
    folders = [write(tmp_path / name, "test", **sides) for name in ("one", "two")]
    found = hf_paraphrase.evaluate(data=folders, suite="translations")
    result = found.record["results"][0]
    assert result["name"] == "multilingual"
    assert [(row["pairs"], row["mean"]) for row in result["bitexts"].values()] == [(2, 100.0)] * 2
    assert "| one fr-en |" in str(found) and "| two fr-en |" in str(found)
    with pytest.raises(InputError, match="no split `train`"):
        hf_paraphrase.evaluate(data=tmp_path / "one", suite="translations", split="train")

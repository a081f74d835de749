from __future__ import annotations

import numpy as np
import pytest

from hf_paraphrase.evaluation.translation_retrieval import translation_retrieval

UNIT = np.eye(4, dtype=np.float32)


def test_a_sentence_whose_nearest_is_its_translation_counts():
    sources, targets = ["un", "deux", "trois", "quatre"], ["one", "two", "three", "four"]
    found = translation_retrieval(sources, targets, UNIT, UNIT[[0, 1, 3, 2]])
    assert (found.source_to_target, found.target_to_source, found.mean, found.pairs) == (50.0, 50.0, 50.0, 4)


def test_any_known_translation_is_right_whatever_its_case_and_punctuation():
    sources, targets = ["Un chat.", "un chat", "deux", "trois"], ["a cat", "one cat", "two", "three"]
    vectors = UNIT[[1, 0, 2, 3]]
    assert translation_retrieval(sources, targets, UNIT, vectors).mean == 100.0
    assert translation_retrieval(["un", *sources[1:]], targets, UNIT, vectors).mean == 50.0


def test_a_sentence_without_known_words_finds_nothing():
    vectors = UNIT.copy()
    vectors[0] = 0.0
    found = translation_retrieval(list("abcd"), list("efgh"), vectors, vectors)
    assert found.mean == 75.0


def test_no_pairs_are_refused():
    with pytest.raises(ValueError, match="no pairs"):
        translation_retrieval([], [], UNIT[:0], UNIT[:0])

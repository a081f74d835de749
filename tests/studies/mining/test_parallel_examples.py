from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from parallel_pairs import examples_of, many

from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder
from hf_paraphrase.errors import InputError
from hf_paraphrase.models.configuration_avg import AvgConfig
from hf_paraphrase.models.modeling_avg import AvgModel
from hf_paraphrase.studies.mining.parallel_examples import (
    NOTHING,
    TRAIN,
    VALIDATION,
    NegativeDraw,
)
from hf_paraphrase.studies.mining.parallel_training import hard_candidates
from hf_paraphrase.tokenization.word_level import build_word_level_tokenizer, sentence_vocabulary

PAIRS = [("un chat", "a cat"), ("un chien", "a dog"), ("Un chat.", "a kitten"), ("deux chats", "two cats")]
DEV = [("un chat", "the cat"), ("trois", "three")]


def test_every_translation_of_a_sentence_is_known_whatever_its_case_and_punctuation():
    examples = examples_of(PAIRS, DEV)
    known = examples.are_parallel(np.arange(5)[:, None], np.arange(6))
    expected = [[1, 0, 1, 0, 1, 0], [0, 1, 0, 0, 0, 0], [1, 0, 1, 0, 1, 0], [0, 0, 0, 1, 0, 0], [0, 0, 0, 0, 0, 1]]
    assert known.astype(int).tolist() == expected


def test_pairs_with_a_side_without_words_are_left_out_and_what_is_left_must_differ():
    examples = examples_of([*PAIRS, ("", "x"), ("y", " ")], [("", "z")])
    assert len(examples.pairs[TRAIN]) == 4 and VALIDATION not in examples.pairs
    for rows in ([("", "a"), ("b", " ")], [("a", "x"), ("b", "X!")]):
        with pytest.raises(InputError, match="no two training pairs have words and different targets"):
            examples_of(rows)


def naive_check(examples, pairs, drawn, negatives):
    for (source, target), row in zip(pairs, drawn, strict=True):
        real = [number for number in row if number != NOTHING]
        assert len(set(real)) == len(real) <= negatives and target not in real
        for number in real:
            assert number < examples.target.trained
            assert not examples.are_parallel(np.array([source]), np.array([number]))[0]


@settings(max_examples=20, deadline=None)
@given(st.integers(2, 40), st.integers(1, 8), st.integers(1, 12), st.integers(0, 3), st.booleans())
def test_negatives_are_different_training_targets_that_are_no_known_translations(count, negatives, size, seed, hard):
    examples = examples_of([*many(count), (many(1)[0][0], "another translation")])
    candidates = None
    if hard:
        generator = np.random.default_rng(seed)
        candidates = np.full((len(examples.source.texts), 6), NOTHING, np.int32)
        for source in range(len(candidates)):
            every = np.arange(len(examples.target.texts))
            free = every[~examples.are_parallel(np.array(source), every)]
            taken = generator.permutation(free)[: generator.integers(7)]
            candidates[source, : len(taken)] = taken
    draw = NegativeDraw(examples, negatives, candidates)
    pairs = examples.pairs[TRAIN][:size]
    drawn = draw(pairs, [seed, 1])
    assert drawn.shape == (len(pairs), negatives)
    naive_check(examples, pairs, drawn, negatives)
    assert np.array_equal(drawn, draw(pairs, [seed, 1]))
    if count > 4 * negatives + 8:
        assert (drawn != NOTHING).all()


@pytest.mark.parametrize(("negatives", "hard"), [(5, 4), (3, 2)])
def test_four_fifths_of_the_negatives_come_from_the_lists(negatives, hard):
    examples = examples_of(many(300))
    candidates = (np.arange(300)[:, None] + 100 + np.arange(20)).astype(np.int32) % 300
    pairs = examples.pairs[TRAIN][:40]
    drawn = NegativeDraw(examples, negatives, candidates)(pairs, [0])
    counts = [np.isin(drawn[row, :hard], candidates[pairs[row, 0]]).sum() for row in range(40)]
    assert counts == [hard] * 40 and (drawn != NOTHING).all()


def encoder_of(texts, seed):
    tokenizer = build_word_level_tokenizer(sentence_vocabulary(texts, contractions=False), contractions=False)
    model = AvgModel(AvgConfig(vocab_size=len(tokenizer), hidden_size=5, initializer_range=1.0))
    generator = np.random.default_rng(seed)
    with torch.no_grad():
        model.embeddings.copy_(torch.from_numpy(generator.normal(size=(len(tokenizer), 5)).astype(np.float32)))
    return SentenceEncoder(model, tokenizer)


def test_the_n_best_list_is_that_of_all_cosines_without_the_known_translations():
    examples = examples_of([*many(40), (many(1)[0][0], "t7 v1")], many(5, seed=2))
    source, target = encoder_of(examples.source.texts, 1), encoder_of(examples.target.texts, 2)
    found = hard_candidates(examples, source, target, 6)
    sources = source.encode(examples.source.texts, normalize=True)
    cosines = sources @ target.encode(examples.target.texts[: examples.target.trained], normalize=True).T
    known = examples.are_parallel(np.arange(len(examples.source.texts))[:, None], np.arange(examples.target.trained))
    cosines[known] = -2.0
    expected = (-cosines).argsort(axis=1, kind="stable")[:, :6]
    got = np.take_along_axis(cosines, found.astype(np.int64), axis=1)
    np.testing.assert_allclose(got, np.take_along_axis(cosines, expected, axis=1), atol=1e-5)
    assert found.dtype == np.int32 and found.shape == (len(examples.source.texts), 6)

"""Parallel sentences, their negatives, and the training and use of their classifier."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_encoders import new_model
from tiny_training import on_cpu
from torch.nn import functional

from hf_paraphrase.classification.trainer import ClassifierTrainer, ClassifierTrainingArguments
from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder
from hf_paraphrase.errors import InputError
from hf_paraphrase.studies.mining.parallel_examples import (
    NOTHING,
    TRAIN,
    VALIDATION,
    NegativeDraw,
    ParallelExamples,
    word_level_tokenizers,
)
from hf_paraphrase.studies.mining.parallel_trainer import ParallelBatches, measure
from hf_paraphrase.studies.mining.parallel_training import hard_candidates
from hf_paraphrase.tokenization.word_level import build_word_level_tokenizer, sentence_vocabulary


def examples_of(train, dev=()):
    texts = {
        split: pa.table({name: [row[side] for row in rows] for side, name in enumerate(("source", "target"))})
        for split, rows in {TRAIN: train, VALIDATION: dev}.items()
        if rows
    }
    return ParallelExamples.encode(texts, word_level_tokenizers(texts, min_frequency=1))


def many(count, seed=0):
    generator = np.random.default_rng(seed)
    return [
        (f"s{row} {' '.join(f'w{i}' for i in generator.integers(9, size=3))}", f"t{row} v{row % 5}")
        for row in range(count)
    ]


def new_classifier():
    sizes = {"source_vocab_size": 500, "target_vocab_size": 500, "embedding_size": 5, "hidden_size": 4}
    return new_model("parallel_bigru", initializer_range=1.0, **sizes)


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
    for (source, target), row in zip(pairs, drawn, strict=True):
        real = [number for number in row if number != NOTHING]
        assert len(set(real)) == len(real) <= negatives and target not in real
        for number in real:
            assert number < examples.target.trained
            assert not examples.are_parallel(np.array([source]), np.array([number]))[0]
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
    model = new_model("avg", seed=seed, vocab_size=len(tokenizer), hidden_size=5, initializer_range=1.0)
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


def logit_of(model, examples, source, target):
    """The logit of one pair alone."""
    sides = ((examples.source, source), (examples.target, target))
    first, second = (torch.from_numpy(side.ids.of_texts(np.array([row])))[None] for side, row in sides)
    return model(first, None, second).logits[0]


def test_the_loss_of_a_batch_is_that_of_its_pairs_scored_one_by_one(tmp_path):
    # Sentences and their translations have different numbers.
    examples = examples_of([(many(1)[0][0], "t7 v1"), *many(40)])
    args = on_cpu(ClassifierTrainingArguments, tmp_path, seed=3)
    trainer = ClassifierTrainer(new_classifier(), args, ParallelBatches(examples, NegativeDraw(examples, 3), 3))
    items = [(0, row) for row in (4, 9, 2, 30)]
    batch = trainer._collate(items)
    loss = trainer.compute_loss(trainer.model, batch)
    pairs = examples.pairs[TRAIN][[4, 9, 2, 30]]
    drawn = trainer.examples.draw(pairs, [3, *items[0]])
    losses = []
    for (source, target), others in zip(pairs, drawn, strict=True):
        for number, label in [(target, 1.0), *((other, 0.0) for other in others)]:
            logit = logit_of(trainer.model, examples, source, number)
            losses.append(functional.binary_cross_entropy_with_logits(logit, torch.tensor(label)))
    assert len(losses) == 16 and (pairs[:, 0] != pairs[:, 1]).all()
    torch.testing.assert_close(loss, torch.stack(losses).mean())
    assert len(batch["source_input_ids"]) == 4 and len(batch["target_input_ids"]) == len(
        np.unique(np.concatenate([pairs[:, 1], drawn.ravel()]))
    )


def test_scores_are_those_computed_by_hand():
    examples = examples_of(many(30), many(9, seed=4))
    model = new_classifier().eval()
    rows, labels = NegativeDraw(examples, 4).labelled(examples.pairs[VALIDATION], [0])
    found = measure(model, examples, rows, labels)
    logits = []
    with torch.no_grad():
        for source, target in rows:
            logits.append(logit_of(model, examples, source, target).item())
    logits = torch.tensor(logits)
    expected = functional.binary_cross_entropy_with_logits(logits, torch.from_numpy(labels).float())
    assert found["loss"] == pytest.approx(expected.item(), abs=1e-5)
    f1 = []
    for threshold in logits:
        chosen = (logits >= threshold).numpy()
        f1.append(200 * (chosen & (labels == 1)).sum() / (chosen.sum() + 9))
    assert found["best_f1"] == pytest.approx(max(f1))
    assert found["threshold"] == pytest.approx(logits[int(np.argmax(f1))].sigmoid().item(), abs=1e-6)

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_training import on_cpu

from hf_paraphrase.studies.mining.bilingual_vectors import (
    SIDES,
    BilingualTrainer,
    BilingualVectors,
    keep_probabilities,
    known_words,
    noise_probabilities,
    window_pairs,
)
from hf_paraphrase.tokenization.ragged_ids import TokenIds
from hf_paraphrase.tokenization.word_level import build_word_level_tokenizer
from hf_paraphrase.training.epoch_trainer import EpochTrainingArguments

SENTENCES = [[2, 3, 4, 2], [], [5], [3, 2], [4, 4, 5, 2, 3, 6]]
OTHERS = [[2, 2], [3], [], [4, 3, 2], [2]]


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(0, 6), max_size=8), st.integers(1, 4), st.integers(0, 9))
def test_windows_are_those_of_a_plain_loop(lengths, window, seed):
    sentences = np.repeat(np.arange(len(lengths)), lengths)
    reach = np.random.default_rng(seed).integers(1, window + 1, size=len(sentences))
    found = window_pairs(sentences, reach, window)
    assert sorted(map(tuple, found.T.tolist())) == windows_of(sentences, reach)


def windows_of(sentences, reach):
    words = range(len(sentences))
    return [(i, j) for i in words for j in words if sentences[i] == sentences[j] and 0 < abs(i - j) <= reach[i]]


def pairs_loss(u, v, noise, windows, negatives):
    """The objective of skip-gram for a list of (word, context), by a plain loop."""
    total = torch.zeros((), dtype=u.dtype)
    for i, j in windows:
        total = total - torch.nn.functional.logsigmoid(u[i] @ v[j])
        total = total - negatives / len(noise) * torch.nn.functional.logsigmoid(-noise @ u[i]).sum()
    return total


def trainer_of(folder):
    ids = tuple(TokenIds.of_lists(side) for side in (SENTENCES, OTHERS))
    counts = [np.bincount(side.ids, minlength=size) for side, size in zip(ids, (7, 5), strict=True)]
    common = {"per_device_train_batch_size": 2, "num_train_epochs": 2, "lr_scheduler_type": "linear"}
    args = on_cpu(EpochTrainingArguments, folder, **common)
    return BilingualTrainer(BilingualVectors(counts, 3, 5, 0.7), args, ids, window=2, subsampling=0.0)


def test_the_loss_of_a_batch_is_that_of_skip_gram_on_both_sides_and_of_the_aligned_means(tmp_path):
    trainer = trainer_of(tmp_path)
    rows = [0, 3, 1, 4]
    batch = trainer._collate([(0, row) for row in rows])
    tables = trainer.model.tables
    with torch.no_grad():
        for table in tables.values():
            table.normal_(generator=torch.Generator().manual_seed(1))
    output = trainer.model(**batch)
    aligned = 0.0
    for row in rows:
        if SENTENCES[row] and OTHERS[row]:
            gap = tables["source"][SENTENCES[row]].mean(0) - tables["target"][OTHERS[row]].mean(0)
            aligned += gap.square().sum().item() / 4
    expected = []
    # The same draws in the same order.
    generator = np.random.default_rng([trainer.args.seed, 0, 0])
    for side, lists in zip(SIDES, (SENTENCES, OTHERS), strict=True):
        words, owner = map(list, zip(*[(word, row) for row in rows for word in lists[row]], strict=True))
        generator.random(len(words))
        reach = generator.integers(1, 3, size=len(words))
        noise = batch[f"{side}_noise"]
        generator.random(len(noise))
        windows = windows_of(owner, reach)
        v = tables[f"{side}_contexts"]
        expected.append(pairs_loss(tables[side][words], v[words], v[noise], windows, 5).item() / 4)
    assert output.loss.item() == pytest.approx(sum(expected) + 0.7 * aligned, rel=1e-4)


def test_unknown_words_are_left_out():
    tokenizer = build_word_level_tokenizer(["a", "b"])
    ids = known_words(pa.chunked_array([["x A x", "", "x", None, "b a"]]), tokenizer)
    assert tokenizer.convert_ids_to_tokens(ids.ids) == ["a", "b", "a"] and ids.offsets.tolist() == [0, 1, 1, 1, 1, 3]


def test_words_are_kept_and_noise_is_drawn_with_the_probabilities_of_word2vec():
    found = keep_probabilities(np.array([0, 9000, 999, 1]), 1e-3)
    assert found[1] == pytest.approx(math.sqrt(1e-3 / 0.9) + 1e-3 / 0.9) and found[3] == 1.0
    assert keep_probabilities(np.array([5, 1]), 0.0).tolist() == [1.0, 1.0]
    np.testing.assert_allclose(noise_probabilities(np.array([0, 16, 1])), [0, 8 / 9, 1 / 9])

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_paraphrase.studies.mining.bilingual_vectors import (
    TABLES,
    BilingualSettings,
    BilingualTraining,
    without_unknown,
)
from hf_paraphrase.studies.mining.skip_gram import NoiseWords, WindowBlocks, keep_probabilities, skip_gram
from hf_paraphrase.tokenization.token_ids import TokenIds

SENTENCES = [[2, 3, 4, 2], [], [5], [3, 2], [4, 4, 5, 2, 3, 6]]
OTHERS = [[2, 2], [3], [], [4, 3, 2], [2]]


def log_sigmoid(value):
    return -math.log1p(math.exp(-value))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 6), max_size=8), st.integers(1, 4), st.integers(1, 5), st.integers(0, 9))
def test_windows_are_those_of_a_plain_loop(lengths, window, size, seed):
    sentences = np.repeat(np.arange(len(lengths)), lengths)
    if not len(sentences):
        return
    reach = np.random.default_rng(seed).integers(1, window + 1, size=len(sentences))
    windows = WindowBlocks.of_sentences(sentences, reach, window, size)
    found = {
        (block * size + centre, int(windows.contexts[block, context]))
        for block, centre, context in windows.inside.nonzero().tolist()
    }
    expected = {
        (i, j)
        for i in range(len(sentences))
        for j in range(len(sentences))
        if sentences[i] == sentences[j] and 0 < abs(i - j) <= reach[i]
    }
    assert found == expected and windows.inside.sum() == len(expected)
    assert windows.counts.tolist() == [sum(i == word for i, _ in expected) for word in range(len(sentences))]


def test_the_objective_and_its_gradient_are_those_of_the_formula():
    generator = torch.Generator().manual_seed(0)
    inputs, outputs, noise = (
        torch.randn(count, 3, generator=generator, dtype=torch.double, requires_grad=True) for count in (7, 7, 4)
    )
    sentences, reach = np.array([0, 0, 0, 0, 1, 1, 1]), np.array([1, 2, 2, 1, 2, 1, 2])
    windows = WindowBlocks.of_sentences(sentences, reach, 2, size=3)
    total = torch.zeros((), dtype=torch.double)
    naive = 0.0
    for i in range(7):
        for j in range(7):
            if sentences[i] == sentences[j] and 0 < abs(i - j) <= reach[i]:
                naive -= log_sigmoid((inputs[i] @ outputs[j]).item())
                naive -= 5 / 4 * sum(log_sigmoid(-(inputs[i] @ word).item()) for word in noise)
                total = total - torch.nn.functional.logsigmoid(inputs[i] @ outputs[j])
                total = total - 5 / 4 * torch.nn.functional.logsigmoid(-noise @ inputs[i]).sum()
    expected = torch.autograd.grad(total, (inputs, outputs, noise))
    with torch.no_grad():
        loss, *gradients = skip_gram(inputs, outputs, noise, windows, 5)
    assert loss == pytest.approx(naive)
    for found, wanted in zip(gradients, expected, strict=True):
        torch.testing.assert_close(found, wanted)


def training_of(**options):
    common = {"dimension": 3, "epochs": 2, "window": 2, "batch_size": 2, "subsampling": 0.0}
    sides = (TokenIds.of_lists(SENTENCES), TokenIds.of_lists(OTHERS))
    training = BilingualTraining(sides, (7, 5), BilingualSettings(**{**common, **options}))
    generator = torch.Generator().manual_seed(1)
    for name in TABLES:
        training.tables[name][2:] = torch.randn(training.tables[name][2:].shape, generator=generator)
    return training


def test_the_gradient_of_a_batch_is_that_of_skip_gram_on_both_sides_and_of_the_aligned_means():
    training = training_of(aligned_weight=0.7)
    rows = np.array([0, 3, 1, 4])
    tables = {name: table.clone().requires_grad_() for name, table in training.tables.items()}
    losses, gradients = training.gradients(rows, np.random.default_rng(5))
    # The same draws in the same order.
    generator = np.random.default_rng(5)
    total = torch.zeros(())
    for name, lists, noise in (("source", SENTENCES, training._noise[0]), ("target", OTHERS, training._noise[1])):
        flat = [(word, sentence) for sentence, row in enumerate(rows) for word in lists[row]]
        generator.random(len(flat))
        reach = generator.integers(1, 3, size=len(flat))
        drawn = noise(256, generator)
        u, v = tables[name], tables[f"{name}_contexts"]
        for i, (word, sentence) in enumerate(flat):
            for j, (other, same) in enumerate(flat):
                if sentence == same and 0 < abs(i - j) <= reach[i]:
                    total = total - torch.nn.functional.logsigmoid(u[word] @ v[other])
                    total = total - 5 / 256 * torch.nn.functional.logsigmoid(-v[drawn] @ u[word]).sum()
    assert losses.source + losses.target == pytest.approx(total.item() / 4, rel=1e-5)
    aligned = torch.zeros(())
    for row in rows:
        if SENTENCES[row] and OTHERS[row]:
            gap = tables["source"][SENTENCES[row]].mean(0) - tables["target"][OTHERS[row]].mean(0)
            aligned = aligned + gap.square().sum()
    assert losses.aligned == pytest.approx(aligned.item() / 4, rel=1e-5)
    expected = torch.autograd.grad(total + 0.7 * aligned, [tables[name] for name in TABLES])
    for name, wanted in zip(TABLES, expected, strict=True):
        ids, values = gradients[name]
        assert ids.tolist() == sorted(set(ids.tolist()))
        dense = torch.zeros_like(wanted)
        dense[ids] = values
        torch.testing.assert_close(dense, wanted, atol=1e-4, rtol=1e-4)


def test_a_batch_of_empty_sentences_changes_nothing():
    training = training_of()
    before = {name: table.clone() for name, table in training.tables.items()}
    losses = training.step(np.array([1, 2]), np.random.default_rng(0))
    assert losses.aligned == 0.0 and torch.isfinite(torch.tensor([losses.source, losses.target])).all()
    assert torch.equal(training.tables["source"][2:5], before["source"][2:5])


def test_training_is_the_same_again_and_continues_from_a_state_as_if_it_had_not_stopped():
    whole, again, stopped = training_of(), training_of(), training_of()
    for number in range(2):
        list(whole.epoch(number))
        list(again.epoch(number))
    list(stopped.epoch(0))
    state = {name: item.clone() for name, item in stopped.state().items()}
    resumed = training_of(seed=0)
    resumed.load_state(state)
    list(resumed.epoch(1))
    for name in TABLES:
        assert torch.equal(whole.tables[name], again.tables[name])
        assert torch.equal(whole.tables[name], resumed.tables[name])
    with pytest.raises(ValueError, match="source is"):
        training_of(dimension=4).load_state(state)


def test_the_learning_rate_falls_to_nothing_in_a_straight_line():
    training = training_of(learning_rate=0.3)
    rates = []
    for number in range(2):
        for _ in training.epoch(number):
            rates.append(training.optimizer.param_groups[0]["lr"])
    assert rates == pytest.approx([0.3 * (1 - step / 6) for step in range(6)])


def test_words_that_mean_the_same_come_together_and_others_do_not():
    generator = np.random.default_rng(0)
    rows = [generator.integers(2, 12, size=generator.integers(2, 6)).tolist() for _ in range(600)]
    sides = (TokenIds.of_lists(rows), TokenIds.of_lists([row[::-1] for row in rows]))
    training = BilingualTraining(
        sides,
        (12, 12),
        BilingualSettings(
            dimension=16, epochs=6, batch_size=32, subsampling=0.0, aligned_weight=10.0, learning_rate=0.02
        ),
    )
    for number in range(6):
        list(training.epoch(number))
    source, target = (torch.nn.functional.normalize(training.tables[side][2:]) for side in ("source", "target"))
    assert (source @ target.T).argmax(1).tolist() == list(range(10))
    assert training.tables["source"][:2].abs().sum() == 0


def test_sums_are_those_of_the_word_vectors():
    training = training_of()
    sums = training.sentence_sums("target", TokenIds.of_lists([[2, 3], [], [4, 4]]))
    table = training.tables["target"].numpy()
    np.testing.assert_allclose(sums, [table[2] + table[3], [0, 0, 0], 2 * table[4]], rtol=1e-6)


def test_unknown_words_are_left_out():
    ids = without_unknown(TokenIds.of_lists([[1, 2, 1], [], [1], [3]]), 1)
    assert ids.ids.tolist() == [2, 3] and ids.offsets.tolist() == [0, 1, 1, 1, 2]


def test_sides_of_different_lengths_are_refused():
    with pytest.raises(ValueError, match="5 source sentences, but 1 target"):
        BilingualTraining((TokenIds.of_lists(SENTENCES), TokenIds.of_lists([[2]])), (7, 5), BilingualSettings())


def test_frequent_words_are_kept_with_the_probability_of_word2vec():
    found = keep_probabilities(np.array([0, 9000, 999, 1]), 1e-3)
    assert found[1] == pytest.approx(math.sqrt(1e-3 / 0.9) + 1e-3 / 0.9) and found[3] == 1.0
    assert keep_probabilities(np.array([5, 1]), 0.0).tolist() == [1.0, 1.0]


def test_noise_words_are_drawn_by_their_count_to_the_power_of_three_quarters():
    counts = np.array([0, 16, 1, 0])
    drawn = np.bincount(NoiseWords(counts)(90_000, np.random.default_rng(0)), minlength=4)
    assert drawn[0] == drawn[3] == 0
    assert drawn[1] / drawn[2] == pytest.approx(8.0, rel=0.1)

from __future__ import annotations

import numpy as np
import pytest
import torch
from accelerate.data_loader import prepare_data_loader, skip_first_batches
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils.data import DataLoader
from transformers import TrainerState

from hf_paraphrase.training.batches import LengthBatches, PairItems
from hf_paraphrase.training.callbacks import EpochOfBatches


def loader_of(pairs, processes, rank):
    """The batches of one of several processes, as the Trainer shares them, and their sampler."""
    sampler = LengthBatches(np.full(pairs, 2), 4, 0, processes)
    collate = lambda items: torch.tensor([row for _, row in items])  # noqa: E731
    loader = DataLoader(PairItems(pairs), batch_sampler=sampler, collate_fn=collate)
    settings = {"put_on_device": False, "even_batches": False}
    return prepare_data_loader(loader, num_processes=processes, process_index=rank, **settings), sampler


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(1, 50), min_size=1, max_size=200), st.integers(1, 17), st.integers(0, 3))
def test_every_pair_comes_exactly_once_an_epoch(lengths, size, epoch):
    sampler = LengthBatches(np.array(lengths), size, seed=0)
    sampler.set_epoch(epoch)
    assert {number for batch in sampler for number, _ in batch} == {epoch}
    found = [[row for _, row in batch] for batch in sampler]
    assert sorted(index for batch in found for index in batch) == list(range(len(lengths)))
    assert len(found) == len(sampler)
    assert all(1 <= len(batch) <= size for batch in found)


def test_batches_hold_pairs_of_similar_length_come_in_random_order_and_are_others_in_every_epoch():
    lengths = np.random.default_rng(0).integers(1, 100, 2_000)
    sampler = LengthBatches(lengths, 20, seed=0)
    batches = [[row for _, row in batch] for batch in sampler]
    padding = sum(len(batch) * lengths[batch].max() for batch in batches) / lengths.sum()
    shuffled = np.random.default_rng(1).permutation(2_000).reshape(-1, 20)
    assert padding < 1.1 < sum(20 * lengths[batch].max() for batch in shuffled) / lengths.sum()
    means = [lengths[batch].mean() for batch in batches]
    assert means != sorted(means)
    sampler.set_epoch(1)
    assert not {*map(frozenset, batches)} & {frozenset(row for _, row in batch) for batch in sampler}


@pytest.mark.parametrize(("pairs", "processes"), [(60, 2), (61, 3), (1, 2)])
def test_several_processes_take_the_same_number_of_steps_and_see_every_pair(pairs, processes):
    # As the Trainer does it: with a different number of steps the processes would wait for each other for ever.
    epochs = []
    for epoch in range(2):
        seen, steps = [], []
        for rank in range(processes):
            shared, sampler = loader_of(pairs, processes, rank)
            sampler.set_epoch(epoch)
            batches = [batch.tolist() for batch in shared]
            steps.append(len(batches))
            seen.append([index for batch in batches for index in batch])
        assert len(set(steps)) == 1 and steps[0] * processes == len(sampler)
        assert {index for own in seen for index in own} == set(range(pairs))
        assert sum(map(len, seen)) - pairs <= 4 * (processes - 1)
        epochs.append(seen)
    assert epochs[0] != epochs[1] or pairs < 5


def test_batches_behind_a_resume_are_those_of_an_undisturbed_epoch():
    # The Trainer skips batches of a resumed run by a wrapper around the sampler of the process.
    def batches(epoch, skipped):
        loader, sampler = loader_of(60, 2, 1)
        loader = skip_first_batches(loader, skipped) if skipped else loader
        loader.set_epoch(epoch)
        updates = len(sampler) // 2
        state = TrainerState(global_step=epoch * updates + skipped)
        EpochOfBatches(sampler.set_epoch, lambda: updates).on_epoch_begin(None, state, None)
        return [batch.tolist() for batch in loader]

    for epoch in range(2):
        assert batches(epoch, 3) == batches(epoch, 0)[3:]

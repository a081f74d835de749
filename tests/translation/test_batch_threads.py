from __future__ import annotations

import threading

import pytest
import torch

from hf_paraphrase.translation.batch_threads import (
    MOST_THREADS,
    results_in_order,
    single_threaded_operations,
    threads_for,
)

CPU = torch.device("cpu")


@pytest.fixture
def three_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_results_come_in_the_order_of_the_batches(threads):
    assert list(results_in_order(lambda batch: batch * batch, range(40), threads)) == [item**2 for item in range(40)]


def test_as_many_batches_are_worked_on_at_once_as_there_are_threads():
    together = threading.Barrier(3, timeout=30)
    assert len(list(results_in_order(lambda batch: together.wait(), range(6), 3))) == 6


@pytest.mark.parametrize("threads", [1, 2])
def test_an_error_comes_when_its_batch_has_its_turn(threads):
    found = results_in_order(lambda batch: 1 // (3 - batch), range(8), threads)
    assert [next(found), next(found), next(found)] == [0, 0, 1]
    with pytest.raises(ZeroDivisionError):
        next(found)


def test_operations_have_one_thread_meanwhile_in_new_threads_too(three_threads):
    with single_threaded_operations(CPU):
        assert torch.get_num_threads() == 1
        assert set(results_in_order(lambda batch: torch.get_num_threads(), range(4), 2)) == {1}
    assert torch.get_num_threads() == 3
    with pytest.raises(KeyError), single_threaded_operations(CPU):
        raise KeyError
    assert torch.get_num_threads() == 3


def test_processors_work_on_a_batch_a_thread_and_other_devices_on_one(three_threads):
    assert threads_for(CPU) == 3
    assert threads_for(torch.device("meta")) == 1
    torch.set_num_threads(MOST_THREADS + 4)
    assert threads_for(CPU) == MOST_THREADS
    with single_threaded_operations(torch.device("meta")):
        assert torch.get_num_threads() == MOST_THREADS + 4

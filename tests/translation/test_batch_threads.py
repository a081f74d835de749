from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from hf_paraphrase.training.threads import computing_alone, in_threads, single_threaded_operations
from hf_paraphrase.translation.table_translator import MOST_PLAIN_THREADS, MOST_THREADS, threads_for

CPU = torch.device("cpu")


@pytest.fixture
def three_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(before)


def test_operations_have_one_thread_meanwhile_in_new_threads_too(three_threads):
    with single_threaded_operations(CPU):
        assert torch.get_num_threads() == 1
        assert set(in_threads(lambda batch: torch.get_num_threads(), range(4), 2)) == {1}
    assert torch.get_num_threads() == 3
    with pytest.raises(KeyError), single_threaded_operations(CPU):
        raise KeyError
    assert torch.get_num_threads() == 3


def test_one_thread_computes_alone_and_no_other_learns_of_it(three_threads):
    with pytest.raises(KeyError), computing_alone():
        assert torch.get_num_threads() == 1
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(torch.get_num_threads).result() == 3
        with computing_alone():
            assert torch.get_num_threads() == 1
        raise KeyError
    assert torch.get_num_threads() == 3


def test_processors_work_on_a_batch_a_thread_and_other_devices_on_one(three_threads):
    assert threads_for(CPU) == 3
    assert threads_for(torch.device("meta")) == 1
    torch.set_num_threads(MOST_THREADS + 4)
    assert threads_for(CPU) == MOST_THREADS
    assert threads_for(CPU, fast=False) == MOST_PLAIN_THREADS
    with single_threaded_operations(torch.device("meta")):
        assert torch.get_num_threads() == MOST_THREADS + 4

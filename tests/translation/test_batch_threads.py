from __future__ import annotations

import pytest
import torch

from hf_paraphrase.training.threads import in_threads, one_thread
from hf_paraphrase.translation.translator import MOST_PLAIN_THREADS, MOST_THREADS, threads_for

CPU = torch.device("cpu")


@pytest.fixture
def three_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(before)


def test_operations_have_one_thread_meanwhile_in_new_threads_too(three_threads):
    with one_thread():
        assert torch.get_num_threads() == 1
        assert set(in_threads(lambda batch: torch.get_num_threads(), range(4), 2)) == {1}
        with pytest.raises(KeyError), one_thread():
            raise KeyError
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == 3


def test_blocks_in_threads_compute_alone_and_interrupting_them_restores_the_threads(three_threads):
    results = in_threads(lambda block: torch.get_num_threads(), range(4), 2)
    assert next(results) == 1
    results.close()
    assert torch.get_num_threads() == 3


def test_processors_work_on_a_batch_a_thread_and_other_devices_on_one(three_threads):
    assert threads_for(CPU) == 3
    assert threads_for(torch.device("meta")) == 1
    torch.set_num_threads(MOST_THREADS + 4)
    assert threads_for(CPU) == MOST_THREADS
    assert threads_for(CPU, fast=False) == MOST_PLAIN_THREADS

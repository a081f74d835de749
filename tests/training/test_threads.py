from __future__ import annotations

import pytest
import torch

from hf_paraphrase.training.threads import in_threads, one_thread


@pytest.fixture
def three_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(before)


def test_operations_have_one_thread_meanwhile_and_three_again_after_an_error_or_an_end_before_time(three_threads):
    with pytest.raises(KeyError), one_thread():
        assert set(in_threads(lambda block: torch.get_num_threads(), range(4), 2)) == {1}
        raise KeyError
    assert torch.get_num_threads() == 3
    results = in_threads(lambda block: torch.get_num_threads(), range(4), 2)
    assert next(results) == 1
    results.close()
    assert torch.get_num_threads() == 3

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from transformers import TrainingArguments

from hf_paraphrase.errors import UsageError
from hf_paraphrase.training.devices import AcceleratorSettings
from hf_paraphrase.training.threads import in_threads, one_thread

settings = AcceleratorSettings


@pytest.fixture
def two_cards(monkeypatch):
    """A machine with two GPUs, as far as torch tells."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)


def test_a_training_takes_the_kind_of_device_that_is_named_and_else_a_gpu_where_there_is_one(two_cards, monkeypatch):
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: True)
    settings(device="cuda").check()
    assert not settings(device="cuda").is_on_cpu and not settings().is_on_cpu and settings(device="cpu").is_on_cpu
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: False)
    assert settings().is_on_cpu


def test_an_absent_device_and_one_of_several_are_refused(request):
    with pytest.raises(UsageError, match="there is no --device cuda here"):
        settings(device="cuda").check()
    request.getfixturevalue("two_cards")
    with pytest.raises(UsageError, match="takes the first GPU"):
        settings(device="cuda:1").check()


def test_a_process_trains_on_one_gpu_however_many_there_are_and_says_so(tmp_path, monkeypatch, caplog):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(TrainingArguments, "n_gpu", property(lambda arguments: getattr(arguments, "_n_gpu", 0) or 2))
    caplog.set_level("INFO")
    assert settings().trainer_arguments(TrainingArguments, output_dir="out").n_gpu == 1
    assert "training on one GPU" in caplog.text


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


@pytest.mark.parametrize("order", [1, -1])
def test_two_threads_whose_blocks_overlap_both_have_three_again(three_threads, order):
    with ThreadPoolExecutor(1) as other:
        runs = [
            lambda function, *values: other.submit(function, *values).result(),
            lambda function, *values: function(*values),
        ]
        assert [run(torch.get_num_threads) for run in runs] == [3, 3]
        blocks = [one_thread(), one_thread()]
        for run, block in zip(runs, blocks, strict=True):
            run(block.__enter__)
        assert set(in_threads(lambda block: torch.get_num_threads(), range(4), 2)) == {1}
        for run, block in [*zip(runs, blocks, strict=True)][::order]:
            run(block.__exit__, None, None, None)
        assert [run(torch.get_num_threads) for run in runs] == [3, 3]

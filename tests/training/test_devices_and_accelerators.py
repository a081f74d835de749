from __future__ import annotations

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import pytest
import torch
from transformers import TrainingArguments

from hf_paraphrase.commands import main
from hf_paraphrase.errors import UsageError
from hf_paraphrase.threads import available_threads, in_threads, one_thread
from hf_paraphrase.training.devices import AcceleratorSettings, check_device, devices
from hf_paraphrase.training.processes import refuse_sharding

settings = AcceleratorSettings


def test_a_training_takes_the_kind_of_device_that_is_named_and_else_a_gpu_where_there_is_one(two_cards, monkeypatch):
    two_cards()
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: True)
    settings(device="cuda").check()
    assert not settings(device="cuda").is_on_cpu and not settings().is_on_cpu and settings(device="cpu").is_on_cpu
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: False)
    assert settings().is_on_cpu


def test_an_absent_device_and_for_a_training_one_of_several_are_refused(two_cards):
    two_cards()
    assert devices()[:4] == ["cpu", "cuda", "cuda:0", "cuda:1"] and check_device("cuda:1") == "cuda:1"
    with pytest.raises(UsageError, match=r"no --device cuda:2 \(did you mean cuda:1\? One of cpu, cuda, cuda:0"):
        check_device("cuda:2")
    with pytest.raises(UsageError, match="uses the first GPU"):
        settings(device="cuda:1").check()


def test_a_process_trains_on_one_gpu_however_many_there_are_and_says_so(tmp_path, monkeypatch, caplog):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(TrainingArguments, "n_gpu", property(lambda arguments: getattr(arguments, "_n_gpu", 0) or 2))
    caplog.set_level("INFO")
    assert settings().trainer_arguments(TrainingArguments, output_dir="out").n_gpu == 1
    assert "training on one of several GPUs" in caplog.text


def test_a_launcher_that_spreads_models_is_refused_before_anything_is_written(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("ACCELERATE_USE_FSDP", "false")
    refuse_sharding()
    monkeypatch.setenv("ACCELERATE_USE_FSDP", "True")
    monkeypatch.chdir(tmp_path)
    assert main(["train-encoder", "--pairs", "absent", "--output", "model"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "ACCELERATE_USE_FSDP splits a model across processes" in line and not list(tmp_path.iterdir())


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


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no processes are forked here")
@pytest.mark.parametrize("block", [nullcontext, one_thread])
def test_a_forked_process_has_the_threads_of_its_parent(three_threads, block):
    with block():
        pid = os.fork()
        if pid == 0:
            os._exit(torch.get_num_threads())
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 3


def test_work_that_begins_while_another_thread_imports_torch_waits_for_it(tmp_path, monkeypatch):
    lines = ["import time", "time.sleep(0.5)", "set_num_threads = print", "def get_num_threads(): return 3"]
    (tmp_path / "torch.py").write_text("\n".join(lines))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "torch")
    with ThreadPoolExecutor(1) as other:
        importing = other.submit(__import__, "torch")
        while "torch" not in sys.modules:
            assert not importing.done()
        with one_thread():
            assert available_threads() == 3 and importing.done()


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

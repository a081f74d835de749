from __future__ import annotations

import shutil

import pyarrow as pa
import pytest
import torch
from safetensors.torch import load_file
from transformers import TrainingArguments

from hf_paraphrase import train_encoder
from hf_paraphrase.data.folder import write_split
from hf_paraphrase.data.schema import PAIRS
from hf_paraphrase.errors import UsageError
from hf_paraphrase.training.devices import AcceleratorSettings

ROWS = [{"sentence1": f"w{place % 7} w{place % 5}", "sentence2": f"w{place % 3} w{place % 7}"} for place in range(60)]


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


def test_one_of_several_devices_is_chosen_otherwise(two_cards):
    with pytest.raises(UsageError, match="takes the first GPU"):
        settings(device="cuda:1").check()


def test_an_absent_device_and_an_absent_compiler_are_refused_before_anything_is_made(monkeypatch):
    with pytest.raises(UsageError, match="there is no --device cuda here"):
        settings(device="cuda").check()
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(UsageError, match="--torch-compile needs a C"):
        settings(torch_compile=True).check()


def test_a_process_trains_on_one_gpu_however_many_there_are_and_says_so(tmp_path, monkeypatch, caplog):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(TrainingArguments, "n_gpu", property(lambda arguments: getattr(arguments, "_n_gpu", 0) or 2))
    caplog.set_level("INFO")
    assert settings().trainer_arguments(TrainingArguments, output_dir="out").n_gpu == 1
    assert "training on one GPU" in caplog.text


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["avg", "gran"])
def test_a_compiled_model_is_trained_as_one_that_is_not(tmp_path, monkeypatch, kind):
    if shutil.which("g++") is None:
        pytest.skip("there is no C++ compiler")
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "cache"))
    write_split(tmp_path / "pairs", "train", [pa.Table.from_pylist(ROWS, PAIRS)], PAIRS)
    found = []
    for compiled in (False, True):
        output = str(tmp_path / str(compiled))
        train_encoder(
            pairs=str(tmp_path / "pairs"),
            output=output,
            model_type=kind,
            hidden_size=8,
            batch_size=20,
            dense_optimizer=True,
            torch_compile=compiled,
        )
        found.append(load_file(f"{output}/model.safetensors"))
    for name, expected in found[0].items():
        torch.testing.assert_close(found[1][name], expected, atol=1e-4, rtol=1e-3)

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from fresh_python import TWO_PROCESSES
from safetensors.torch import load_file
from several_processes_worker import GRADIENTS, gradient

from hf_paraphrase.commands import main
from hf_paraphrase.training.processes import refuse_sharding

needs_gloo = pytest.mark.skipif(
    not torch.distributed.is_available() or not torch.distributed.is_gloo_available(), reason="torch lacks gloo"
)


@pytest.fixture(scope="module")
def together(tmp_path_factory, run_python):
    """The folder in which two processes left what they did."""
    output = tmp_path_factory.mktemp("gradients")
    done = run_python(TWO_PROCESSES, Path(__file__).with_name("several_processes_worker.py"), output)
    assert done.returncode == 0, done.stderr[-3000:]
    return output


@needs_gloo
@pytest.mark.parametrize("name", GRADIENTS)
def test_the_gradient_on_every_process_is_the_mean_of_all_and_stays_sparse(together, name):
    averages = [load_file(together / f"gradients {process}.safetensors") for process in range(2)]
    expected = sum(gradient(name, process).to_dense() for process in range(2)) / 2
    assert torch.equal(averages[0][name], averages[1][name])
    torch.testing.assert_close(averages[0][name], expected, rtol=1e-6, atol=1e-7)
    assert bool(averages[0][f"is sparse {name}"]) is ("rows" in name) and "without" not in averages[0]


@needs_gloo
def test_processes_with_other_inputs_or_without_the_folder_of_the_first_are_refused_on_all_of_them(together):
    for process in range(2):
        fine, others, blind = (together / f"messages {process}").read_text().split("\n")
        assert fine == ""
        assert others.startswith("settings or inputs of process 1 are not those of process 0 (start the same command")
        assert f"of process {process}: process 1 does not see this folder of process 0 (give an --output" in blind


def test_a_launcher_that_spreads_models_is_refused_before_anything_is_written(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("ACCELERATE_USE_FSDP", "false")
    refuse_sharding()
    monkeypatch.setenv("ACCELERATE_USE_FSDP", "True")
    monkeypatch.chdir(tmp_path)
    assert main(["train-encoder", "--pairs", "absent", "--output", "model"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "ACCELERATE_USE_FSDP spreads a model over processes" in line and not list(tmp_path.iterdir())

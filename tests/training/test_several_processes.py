from __future__ import annotations

from pathlib import Path

import pytest
import torch
from fresh_python import TWO_PROCESSES

from hf_paraphrase.commands import main
from hf_paraphrase.training.processes import refuse_sharding


@pytest.mark.skipif(
    not torch.distributed.is_available() or not torch.distributed.is_gloo_available(), reason="torch lacks gloo"
)
def test_processes_with_other_inputs_or_without_the_folder_of_the_first_are_refused_on_all_of_them(
    tmp_path, run_python
):
    done = run_python(TWO_PROCESSES, Path(__file__).with_name("several_processes_worker.py"), tmp_path)
    assert done.returncode == 0, done.stderr[-3000:]
    for process in range(2):
        fine, others, blind = (tmp_path / f"messages {process}").read_text().split("\n")
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
    assert "ACCELERATE_USE_FSDP splits a model across processes" in line and not list(tmp_path.iterdir())

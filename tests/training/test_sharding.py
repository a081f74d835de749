from __future__ import annotations

import pytest

from hf_paraphrase.commands import main
from hf_paraphrase.errors import UsageError
from hf_paraphrase.training.sharding import refuse_sharding

SWITCHES = {
    "ACCELERATE_USE_FSDP": "FSDP",
    "ACCELERATE_USE_DEEPSPEED": "DeepSpeed",
    "ACCELERATE_USE_MEGATRON_LM": "Megatron-LM",
    "ACCELERATE_USE_PARALLELISM_CONFIG": "a parallelism configuration",
}


@pytest.mark.parametrize("variable", SWITCHES)
@pytest.mark.parametrize("value", ["true", "True", "1"])
def test_a_launcher_that_spreads_models_is_refused(monkeypatch, variable, value):
    monkeypatch.setenv(variable, value)
    with pytest.raises(UsageError, match=f"^{SWITCHES[variable]} is asked for .the launcher sets {variable}"):
        refuse_sharding()


@pytest.mark.parametrize("value", ["", "false", "False", "0", "no"])
def test_a_launcher_that_says_that_it_does_not_is_none(monkeypatch, value):
    for variable in SWITCHES:
        monkeypatch.setenv(variable, value)
    refuse_sharding()


VERBS = {
    "train-encoder": ["--pairs", "absent"],
    "train-nmt": ["--bitext", "absent"],
    "train-classifier": ["--pairs", "absent"],
    "train-sdae": ["--text", "absent"],
    "train-supervised": ["--model", "absent", "--data", "absent"],
    "train-parallel-classifier": ["--bitext", "absent"],
    "train-bilingual-vectors": ["--bitext", "absent"],
    "distill": ["--text", "absent", "--teacher", "absent"],
}


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_that_trains_refuses_it_in_one_line_before_it_writes(tmp_path, monkeypatch, capsys, verb):
    monkeypatch.setenv("ACCELERATE_USE_FSDP", "true")
    monkeypatch.chdir(tmp_path)
    assert main([verb, *VERBS[verb], "--output", "model"]) == 2
    assert capsys.readouterr().err.splitlines() == [
        "hf-paraphrase: error: FSDP is asked for (the launcher sets ACCELERATE_USE_FSDP), and in a training here "
        "every process holds the whole model (leave it out, and start the processes with torchrun or accelerate "
        "launch --multi_gpu)"
    ]
    assert not list(tmp_path.iterdir())

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest
import torch
from transformers import TrainerControl, TrainerState

from hf_paraphrase.training.callbacks import OneLineProgress, last_checkpoint


def test_the_line_has_a_loss_before_the_first_log_of_the_mean_loss():
    trainer = SimpleNamespace(last_loss=None)
    progress, state, control = OneLineProgress(trainer), TrainerState(max_steps=3), TrainerControl()
    progress.on_train_begin(None, state, control)
    for step, loss in enumerate((None, 0.25, 0.125), 1):
        state.global_step = step
        trainer.last_loss = None if loss is None else torch.tensor(loss)
        progress.on_step_end(None, state, control)
        # The third loss is too early to be read.
        assert progress.figures == ({} if loss is None else {"loss": "0.25"})
    assert progress.training_bar.postfix == "loss=0.25"
    progress.on_log(None, state, control, {"loss": 0.2, "eval_dev_mean": 71.5})
    assert progress.figures == {"loss": "0.2", "dev mean": "71.5"}
    progress.on_log(None, state, control, {"eval_dev_mean": 72.0, "eval_STS": 72.0, "epoch": 72.0})
    assert progress.figures == {"loss": "0.2", "dev mean": "72"}
    progress.on_log(None, state, control, {"eval_dev_mean": 72.5, "eval_STS": 72.0, "eval_SICK": 73})
    assert progress.figures == {"loss": "0.2", "dev mean": "72.5", "dev STS": "72", "dev SICK": "73"}


PARTS = ("model.safetensors", "optimizer.pt", "rng_state.pth", "scheduler.pt", "trainer_state.json")


@pytest.mark.parametrize("missing", PARTS)
def test_a_checkpoint_that_was_removed_in_part_does_not_count(tmp_path, missing):
    for step in (3, 6):
        (tmp_path / f"checkpoint-{step}").mkdir()
        for name in PARTS:
            (tmp_path / f"checkpoint-{step}" / name).write_text(json.dumps({"global_step": step}))
    (tmp_path / "checkpoint-6" / missing).unlink()
    assert last_checkpoint(tmp_path) == tmp_path / "checkpoint-3" and not (tmp_path / "checkpoint-6").exists()

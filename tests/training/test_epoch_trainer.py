from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

from hf_paraphrase.training.batches import EpochBatches
from hf_paraphrase.training.epoch_trainer import EpochTrainer, EpochTrainingArguments

ITEMS = torch.arange(7.0).unsqueeze(1)


class Line(torch.nn.Module):
    """The mean over a batch of (w · x)²."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(1, 1, bias=False)

    def forward(self, values):
        return SimpleNamespace(loss=self.layer(values).square().mean())


class LineTrainer(EpochTrainer):
    criterion = "loss"

    def begin_epoch(self, epoch):
        super().begin_epoch(epoch)
        self.begun = [*getattr(self, "begun", []), epoch]


def collate(items):
    return {"values": ITEMS[[number for _, number in items]]}


@pytest.mark.parametrize("accumulated", [1, 3])
def test_every_epoch_has_an_order_of_its_own_however_many_batches_an_update_has(tmp_path, accumulated):
    settings = {"num_train_epochs": 3, "gradient_accumulation_steps": accumulated, "disable_tqdm": True}
    args = EpochTrainingArguments(output_dir=str(tmp_path), use_cpu=True, report_to="none", **settings)
    trainer = LineTrainer(Line(), args, EpochBatches(len(ITEMS), 2, seed=0), collate, dev_size=None)
    trainer.train()
    assert trainer.begun == [0, 1, 2]

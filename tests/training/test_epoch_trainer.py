from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch
from tiny_training import on_cpu

from hf_paraphrase.training import epoch_trainer
from hf_paraphrase.training.batches import EpochBatches
from hf_paraphrase.training.epoch_trainer import EpochTrainer, EpochTrainingArguments

ITEMS = torch.arange(11.0).unsqueeze(1)


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


def trainer_of(folder, batch=2, **options):
    args = on_cpu(EpochTrainingArguments, folder, **options)
    return LineTrainer(Line(), args, EpochBatches(len(ITEMS), batch, seed=0), collate, dev_size=None)


@pytest.mark.parametrize("accumulated", [1, 3])
def test_every_epoch_has_an_order_of_its_own_however_many_batches_an_update_has(tmp_path, accumulated):
    trainer = trainer_of(tmp_path, num_train_epochs=3, gradient_accumulation_steps=accumulated)
    trainer.train()
    assert trainer.begun == [0, 1, 2]


@pytest.mark.parametrize("accumulated", [1, 2])
def test_the_mean_over_processes_is_that_over_the_joint_batch_also_where_one_has_less(
    tmp_path, monkeypatch, accumulated
):
    """Of three processes with two items each the joint batches have six items and five."""
    trainer = trainer_of(tmp_path, gradient_accumulation_steps=accumulated)
    batches = trainer.batches = EpochBatches(len(ITEMS), 2, seed=0, num_processes=3)
    dealt = [collate(items) for items in batches]
    losses = torch.zeros(3, batches.joint_batches)
    for process in range(3):
        monkeypatch.setattr(epoch_trainer, "process_index", lambda number=process: number)
        trainer.state.global_step, own, found = 0, iter(dealt[process::3]), []
        while len(found) < batches.joint_batches:
            samples, _ = trainer.get_batch_samples(own, accumulated, torch.device("cpu"))
            found += [trainer.compute_loss(trainer.model, sample).detach() for sample in samples]
            trainer.state.global_step += 1
        losses[process] = torch.stack(found)
    order = batches.order(0)
    for number in range(batches.joint_batches):
        start, end = batches.joint(number)
        expected = trainer.model(ITEMS[order[start:end]]).loss
        torch.testing.assert_close(losses[:, number].mean(), expected)

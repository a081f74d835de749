"""A verb that trains one number."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import torch
from safetensors.torch import load_file, save_file
from transformers import Trainer, TrainingArguments, set_seed

from hf_paraphrase.settings import recipe, setting
from hf_paraphrase.training.callbacks import keep_standard_output
from hf_paraphrase.training.run import TrainingRun, TrainingRunSettings


@dataclass(kw_only=True)
class ToySettings(TrainingRunSettings):
    data: str = setting("a file of numbers")
    steps: int = setting("updates", 8)


class ToyModel(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(1, 1))

    def forward(self, number):
        return {"loss": ((self.weight * number - 2 * number) ** 2).mean()}


@recipe(ToySettings)
def train_toy(settings):
    with TrainingRun(settings, command="train-toy", inputs=[settings.data]) as run:
        if not run.is_finished:
            numbers = [{"number": torch.tensor(float(word))} for word in Path(settings.data).read_text().split()]
            set_seed(settings.seed)
            sizes = {"max_steps": settings.steps, "per_device_train_batch_size": 2}
            arguments = run.arguments(TrainingArguments, **sizes, save_steps=2, logging_steps=3)
            trainer = Trainer(ToyModel(), arguments, train_dataset=numbers)
            keep_standard_output(trainer)
            run.train(trainer)
            if run.writes:
                model = trainer.accelerator.unwrap_model(trainer.model)
                save_file({"weight": model.weight.detach()}, run.folder / "model.safetensors")
            card = {"library_name": "transformers", "languages": [], "config": {}}
            with mock.patch("hf_paraphrase.artefacts.cards.render_card", lambda *words: "---\ntags: []\n---\n# Toy\n"):
                run.write(results={"steps": trainer.state.global_step}, template="toy", card=card)
    return load_file(Path(settings.output) / "model.safetensors")

"""What the tests of encoder training share: pairs of two languages of letters, small models, a trainer, and kills."""

from __future__ import annotations

import numpy as np
from tiny_encoders import new_model
from transformers import TrainerCallback

from hf_paraphrase.encoders import EncoderTrainer, EncoderTrainingArguments
from hf_paraphrase.tokenization.word_level import build_word_level_tokenizer

SIZE = 62
"""Token vectors: of 30 words of each language, of padding and of unknown words."""


def tokenizer():
    return build_word_level_tokenizer([f"{letter}{x}" for letter in "ab" for x in range(30)])


def sides(count):
    """First sentences in words a…, and the same sentences in words b…."""
    generator = np.random.default_rng(0)
    drawn = [generator.integers(30, size=generator.integers(2, 7)) for _ in range(count)]
    return [[" ".join(f"{letter}{x}" for x in row) for row in drawn] for letter in "ab"]


def rows_of(first, second):
    return [{"sentence1": one, "sentence2": other} for one, other in zip(first, second, strict=True)]


def make(kind="avg", **settings):
    sizes = {"vocab_size": SIZE, "hidden_size": 8, "initializer_range": 0.5, **settings}
    return new_model("avg", **sizes) if kind == "avg" else new_model("gran", cell=kind, **sizes)


def on_cpu(arguments_class, folder, **settings):
    """Arguments of a Trainer that reports and shows nothing."""
    common = {"output_dir": str(folder), "use_cpu": True, "report_to": "none", "disable_tqdm": True}
    return arguments_class(**{**common, **settings})


def arguments(folder, **settings):
    options = {"num_train_epochs": 2, "per_device_train_batch_size": 10, "learning_rate": 0.02, "seed": 5}
    return on_cpu(EncoderTrainingArguments, folder, **{**options, **settings})


def trainer_of(folder, data, model=None, evaluator=None, **settings):
    """A trainer of a model on `data`, a tokenizer and pairs."""
    return EncoderTrainer(model or make(), arguments(folder, **settings), data[1], data[0], evaluator=evaluator)


class Killed(Exception):
    """Stands for a run that is killed."""


class KillAt(TrainerCallback):
    def __init__(self, step):
        self.step = step

    def on_step_end(self, args, state, control, **kwargs):
        if state.global_step == self.step:
            raise Killed

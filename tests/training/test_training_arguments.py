"""Every setting of a Trainer means for the trainers of this package what it means in transformers."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
import torch
from tiny_training import on_cpu
from transformers import EarlyStoppingCallback

from hf_paraphrase.classification.trainer import ClassifierTrainingArguments
from hf_paraphrase.encoders.distillation.trainer import DistillationTrainingArguments
from hf_paraphrase.encoders.encoder_vocabulary import make_untrained_encoder
from hf_paraphrase.encoders.trainer import EncoderTrainer, EncoderTrainingArguments
from hf_paraphrase.errors import UsageError
from hf_paraphrase.training.sparse_gradients import RowAdam

ARGUMENTS = [DistillationTrainingArguments, EncoderTrainingArguments, ClassifierTrainingArguments]
PAIRS = [{"sentence1": f"w{row % 7} w{row % 5}", "sentence2": f"w{row % 3} w{row % 7}"} for row in range(20)]
STEPS = 5
"""Updates of an epoch of 20 pairs in batches of 4."""


class Scores:
    """An evaluator with other scores at every call; it notes the weights that it was given."""

    def __init__(self, *scores):
        self.scores = list(scores)
        self.weights = []

    def __call__(self, encoder):
        self.weights.append(encoder.model.embeddings.detach().clone())
        return self.scores[len(self.weights) - 1] if self.scores else 0.0


def trained(folder, evaluator=None, callbacks=None, resume=None, **settings):
    """Trains a small encoder for two epochs."""
    sizes = {"num_train_epochs": 2, "per_device_train_batch_size": 4}
    args = on_cpu(EncoderTrainingArguments, folder, **{**sizes, **settings})
    torch.manual_seed(0)
    model, tokenizer = make_untrained_encoder("avg", PAIRS, None, seed=0)
    trainer = EncoderTrainer(model, args, PAIRS, tokenizer, evaluator=evaluator, callbacks=callbacks)
    trainer.train(resume_from_checkpoint=resume)
    return trainer


def saved(folder):
    return sorted(int(path.name.rpartition("-")[2]) for path in Path(folder).glob("checkpoint-*"))


def scored(trainer):
    return [entry["step"] for entry in trainer.scores()]


def test_by_default_every_epoch_is_scored_and_saved_and_the_best_one_is_kept(tmp_path):
    # The untrained state cannot win, and of equal epochs the first one does.
    evaluator = Scores(9.0, 1.0, 3.0, 2.0, 3.0)
    trainer = trained(tmp_path, evaluator, num_train_epochs=4)
    assert scored(trainer) == [0, STEPS, 2 * STEPS, 3 * STEPS, 4 * STEPS]
    assert saved(tmp_path) == [2 * STEPS, 4 * STEPS] and trainer.best_scores()["epoch"] == 2
    found = [torch.equal(trainer.model.embeddings, weights) for weights in evaluator.weights]
    assert found == [False, False, True, False, False] and type(trainer.optimizer.optimizer) is RowAdam


def test_steps_between_scores_and_checkpoints_are_those_that_are_given(tmp_path):
    steps = {"eval_strategy": "steps", "eval_steps": 2, "save_strategy": "steps", "save_steps": 4}
    evaluator = Scores(0.0, 1.0, 5.0, 3.0, 2.0, 1.0)
    trainer = trained(tmp_path, evaluator, save_total_limit=None, **steps)
    assert scored(trainer) == [0, 2, 4, 6, 8, 10] and saved(tmp_path) == [4, 8, 10]
    # The best weights with a checkpoint.
    assert torch.equal(trainer.model.embeddings, evaluator.weights[2])


@pytest.mark.parametrize("settings", [{"load_best_model_at_end": False}, {"save_strategy": "no"}])
def test_the_last_weights_are_kept_where_the_best_are_not_asked_for_or_not_saved(tmp_path, settings):
    evaluator = Scores(0.0, 5.0, 1.0)
    trainer = trained(tmp_path, evaluator, **settings)
    assert torch.equal(trainer.model.embeddings, evaluator.weights[2])


def test_the_named_metric_and_its_direction_choose_the_weights(tmp_path):
    evaluator = Scores({"loss": 0.0, "r": 1.0}, {"loss": 3.0, "r": 9.0}, {"loss": 2.0, "r": 1.0})
    trainer = trained(tmp_path, evaluator, load_best_model_at_end=True, metric_for_best_model="loss")
    assert torch.equal(trainer.model.embeddings, evaluator.weights[2]) and trainer.best_scores()["loss"] == 2.0


def test_nothing_is_scored_where_that_is_asked_for_and_early_stopping_counts_scores(tmp_path):
    assert scored(trained(tmp_path / "none", Scores(), eval_strategy="no")) == []
    stopping = [EarlyStoppingCallback(early_stopping_patience=1)]
    trainer = trained(tmp_path / "early", Scores(0.0, 3.0, 2.0, 9.0), stopping, num_train_epochs=4)
    assert scored(trainer) == [0, STEPS, 2 * STEPS]


def test_the_optimizer_is_the_one_that_is_named(tmp_path):
    trainer = trained(tmp_path / "sgd", optim="sgd")
    assert type(trainer.optimizer.optimizer) is torch.optim.SGD and not trainer.sparse_gradients
    trainer = trained(tmp_path / "adamw", weight_decay=0.5)
    assert type(trainer.optimizer.optimizer) is torch.optim.AdamW and not trainer.sparse_gradients


def test_the_last_batch_of_an_epoch_is_left_out_where_that_is_asked_for_also_after_a_resume(tmp_path):
    settings = {"per_device_train_batch_size": 6, "dataloader_drop_last": True}
    settings |= {"save_strategy": "steps", "save_steps": 2, "save_total_limit": None}
    trainer = trained(tmp_path / "whole", **settings)
    assert trainer.state.global_step == 2 * 3
    resumed = trained(tmp_path / "whole", resume=str(tmp_path / "whole/checkpoint-4"), **settings)
    assert torch.equal(resumed.model.embeddings, trainer.model.embeddings) and resumed.state.global_step == 2 * 3
    with pytest.raises(UsageError, match="drops all 20 examples"):
        trained(tmp_path / "none", **{**settings, "per_device_train_batch_size": 21})


@pytest.mark.parametrize("arguments", ARGUMENTS)
def test_settings_of_a_trainer_are_taken_as_given_and_can_be_copied(tmp_path, arguments):
    given = {"eval_strategy": "steps", "eval_steps": 3, "save_strategy": "steps", "save_steps": 6}
    given |= {"weight_decay": 0.25, "optim": "sgd", "dataloader_drop_last": True, "load_best_model_at_end": True}
    args = arguments(output_dir=str(tmp_path), use_cpu=True, **given)
    for copy in (args, dataclasses.replace(args, seed=9)):
        assert {name: getattr(copy, name) for name in given} == given and copy.names_optimizer
    json.loads(args.to_json_string())
    with pytest.raises(ValueError, match="label_smoothing_factor"):
        arguments(output_dir=str(tmp_path), label_smoothing_factor=0.5)


@pytest.mark.parametrize("arguments", [EncoderTrainingArguments, ClassifierTrainingArguments])
def test_a_model_that_would_be_spread_over_processes_is_refused(tmp_path, arguments):
    with pytest.raises(UsageError, match=r"fsdp splits a model .*torchrun"):
        arguments(output_dir=str(tmp_path), fsdp="full_shard")

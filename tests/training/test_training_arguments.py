from __future__ import annotations

import dataclasses

import pytest

from hf_paraphrase.encoders.distillation.training_arguments import DistillationTrainingArguments
from hf_paraphrase.encoders.training_arguments import EncoderTrainingArguments
from hf_paraphrase.errors import UsageError
from hf_paraphrase.filtering.reference_classifier.classifier_trainer import ClassifierTrainingArguments
from hf_paraphrase.studies.mining.parallel_trainer import ParallelTrainingArguments
from hf_paraphrase.studies.sdae.trainer import SdaeTrainingArguments
from hf_paraphrase.studies.supervised.trainer import SupervisedTrainingArguments
from hf_paraphrase.translation.trainer import TranslationTrainingArguments

EVERY_EPOCH = [ClassifierTrainingArguments, ParallelTrainingArguments, SupervisedTrainingArguments]


@pytest.mark.parametrize(
    ("name", "value"), [("eval_strategy", "steps"), ("eval_steps", 9), ("save_strategy", "no"), ("save_steps", 9)]
)
@pytest.mark.parametrize("arguments", EVERY_EPOCH)
def test_a_setting_that_would_be_overwritten_is_refused_with_what_happens_instead(tmp_path, arguments, name, value):
    with pytest.raises(ValueError, match=f"^{name}={value!r} would have no effect: .* at the end of every epoch"):
        arguments(output_dir=str(tmp_path), **{name: value})


@pytest.mark.parametrize(
    ("name", "value", "instead"),
    [
        ("optim", "sgd", "override the trainer's `create_optimizer`"),
        ("optim_args", "lr=1", "override the trainer's `create_optimizer`"),
        ("weight_decay", 0.5, "override the trainer's `create_optimizer`"),
        ("label_smoothing_factor", 0.5, "override its `compute_loss`"),
        ("dataloader_drop_last", True, "trains on all of its examples"),
    ],
)
@pytest.mark.parametrize("arguments", [EncoderTrainingArguments, *EVERY_EPOCH])
def test_a_setting_that_nothing_reads_is_refused_with_what_to_do_instead(tmp_path, arguments, name, value, instead):
    with pytest.raises(ValueError, match=f"^{name}={value!r} would have no effect: .*{instead}"):
        arguments(output_dir=str(tmp_path), **{name: value})


@pytest.mark.parametrize(
    ("arguments", "instead"),
    [(EncoderTrainingArguments, "give EncoderTrainer an evaluator"), (ParallelTrainingArguments, "a validation part")],
)
def test_who_asks_for_the_best_weights_hears_what_chooses_them(tmp_path, arguments, instead):
    with pytest.raises(ValueError, match=f"^load_best_model_at_end=True would have no effect: .*{instead}"):
        arguments(output_dir=str(tmp_path), load_best_model_at_end=True)


def test_an_autoencoder_has_one_optimizer_one_loss_and_all_of_its_batches(tmp_path):
    for settings in ({"optim": "sgd"}, {"label_smoothing_factor": 0.5}, {"dataloader_drop_last": True}):
        with pytest.raises(ValueError, match="would have no effect"):
            SdaeTrainingArguments(output_dir=str(tmp_path), **settings)


@pytest.mark.parametrize("arguments", [EncoderTrainingArguments, SdaeTrainingArguments, *EVERY_EPOCH])
def test_the_defaults_of_the_trainer_may_be_said(tmp_path, arguments):
    given = arguments(output_dir=str(tmp_path), optim="adamw_torch_fused", weight_decay=0, use_cpu=True)
    assert dataclasses.replace(given, optim="adamw_torch", load_best_model_at_end=False).weight_decay == 0


@pytest.mark.parametrize(("name", "value"), [("eval_strategy", "epoch"), ("save_strategy", "no")])
def test_an_autoencoder_is_measured_evenly_spread_and_not_otherwise(tmp_path, name, value):
    with pytest.raises(ValueError, match=f"^{name}={value!r} would have no effect: .*`evaluations` times"):
        SdaeTrainingArguments(output_dir=str(tmp_path), **{name: value})
    given = SdaeTrainingArguments(output_dir=str(tmp_path), max_steps=100, use_cpu=True)
    assert dataclasses.replace(given, max_steps=50).save_steps == 5


@pytest.mark.parametrize("arguments", EVERY_EPOCH)
def test_what_is_settled_may_be_said_and_copied(tmp_path, arguments):
    given = arguments(output_dir=str(tmp_path), eval_strategy="epoch", save_strategy="epoch", use_cpu=True)
    assert dataclasses.replace(given, seed=9).save_strategy == "epoch"


@pytest.mark.parametrize("settings", [{"fsdp": "full_shard"}, {"fsdp": True}, {"deepspeed": "zero.json"}])
@pytest.mark.parametrize(
    "arguments",
    [
        DistillationTrainingArguments,
        EncoderTrainingArguments,
        SdaeTrainingArguments,
        TranslationTrainingArguments,
        *EVERY_EPOCH,
    ],
)
def test_a_model_that_would_be_spread_over_processes_is_refused(tmp_path, arguments, settings):
    name, value = next(iter(settings.items()))
    with pytest.raises(UsageError, match=f"is asked for .the arguments have {name}={value!r}.*torchrun"):
        arguments(output_dir=str(tmp_path), **settings)
    assert not list(tmp_path.iterdir())

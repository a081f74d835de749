from __future__ import annotations

import dataclasses

import pytest

from hf_paraphrase.training import (
    ClassifierTrainingArguments,
    ParallelTrainingArguments,
    SdaeTrainingArguments,
    SupervisedTrainingArguments,
)

EVERY_EPOCH = [ClassifierTrainingArguments, ParallelTrainingArguments, SupervisedTrainingArguments]


@pytest.mark.parametrize(
    ("name", "value"), [("eval_strategy", "steps"), ("eval_steps", 9), ("save_strategy", "no"), ("save_steps", 9)]
)
@pytest.mark.parametrize("arguments", EVERY_EPOCH)
def test_a_setting_that_would_be_overwritten_is_refused_with_what_happens_instead(tmp_path, arguments, name, value):
    with pytest.raises(ValueError, match=f"^{name}={value!r} would have no effect: .* at the end of every epoch"):
        arguments(output_dir=str(tmp_path), **{name: value})


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

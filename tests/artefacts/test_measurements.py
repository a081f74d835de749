from __future__ import annotations

import math
from dataclasses import replace

import pytest
from huggingface_hub import ModelCard, ModelCardData, metadata_eval_result

from hf_paraphrase.artefacts.measurements import Measurement, set_results

BLEU = Measurement(
    task="translation",
    dataset="/private/place/multi30k",
    split="validation",
    metric="sacrebleu",
    value=51.254,
    name="BLEU (greedy)",
    task_name="Translation",
)
PEARSON = Measurement("sentence-similarity", "STS12", "pearsonr", 45.678901, "Pearson × 100", "STS", config="MSRpar")


def card_with(*measurements, data=None, replaced=()):
    """Returns what the Hub's library reads back from a card with these measurements."""
    card = ModelCard("---\ntags:\n- x\n---\n# Title\n")
    card.data = data or card.data
    set_results(card, "m", measurements, replaced)
    return ModelCard(str(card)).data


def test_measurements_are_read_back_from_the_head_with_their_values():
    data = card_with(PEARSON, replace(PEARSON, metric="spearmanr", value=44), BLEU)
    results = data.eval_results
    assert [(item.dataset_name, item.dataset_type, item.metric_type, item.metric_value) for item in results] == [
        ("STS12 MSRpar", "sts12", "pearsonr", 45.678901),
        ("STS12 MSRpar", "sts12", "spearmanr", 44),
        ("multi30k", "multi30k", "sacrebleu", 51.254),
    ]
    assert data.model_name == "m"


def test_a_result_equals_the_one_that_the_hubs_own_function_writes():
    theirs = metadata_eval_result(
        model_pretty_name="m",
        task_pretty_name="Translation",
        task_id="translation",
        metrics_pretty_name="BLEU (greedy)",
        metrics_id="sacrebleu",
        metrics_value=51.254,
        dataset_pretty_name="multi30k",
        dataset_id="multi30k",
        dataset_split="validation",
    )
    assert card_with(BLEU).eval_results == ModelCardData(**theirs).eval_results


@pytest.mark.parametrize("path", ["/private/my set", "C:\\private\\my set\\"])
def test_the_path_of_a_data_folder_is_not_published(path):
    measurement = replace(BLEU, dataset=path)
    (only,) = card_with(measurement).eval_results
    assert (only.dataset_name, only.dataset_type) == ("my set", "my-set")
    assert measurement.record()["dataset"] == "my set"


@pytest.mark.parametrize("change", [{"value": None}, {"value": math.nan}, {"value": math.inf}, {"dataset": " "}])
def test_no_number_or_no_data_is_no_result(change):
    assert "model-index" not in card_with(replace(BLEU, **change)).to_dict()


def test_new_results_replace_earlier_ones_of_the_same_kind_and_keep_others():
    other = replace(PEARSON, dataset="SICK")
    data = card_with(other, PEARSON, BLEU)
    data = card_with(replace(PEARSON, value=50.0), data=data, replaced=[BLEU])
    assert [(item.dataset_name, item.metric_value) for item in data.eval_results] == [
        ("SICK MSRpar", other.value),
        ("STS12 MSRpar", 50.0),
    ]
    assert "model_name" not in card_with(data=data, replaced=[other, PEARSON]).to_dict()

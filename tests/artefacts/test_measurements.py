from __future__ import annotations

import math
from dataclasses import replace

import pytest
import yaml
from huggingface_hub import EvalResult, ModelCard, ModelCardData, metadata_eval_result
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_paraphrase.artefacts.card_heads import set_metadata
from hf_paraphrase.artefacts.measurements import Measurement, model_index, updated_model_index

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


def read_back(index):
    card = set_metadata("---\ntags:\n- x\n---\n# Title\n", "model-index", index)
    return ModelCard(card).data


def test_every_measurement_comes_back_from_the_head_with_its_value():
    spearman = replace(PEARSON, metric="spearmanr", name="Spearman × 100", value=44)
    data = read_back(model_index("name", [PEARSON, spearman, BLEU]))
    found = [
        (
            item.task_type,
            item.dataset_name,
            item.dataset_type,
            item.dataset_config,
            item.metric_type,
            item.metric_value,
        )
        for item in data.eval_results
    ]
    assert found == [
        ("sentence-similarity", "STS12 MSRpar", "sts12", "MSRpar", "pearsonr", 45.678901),
        ("sentence-similarity", "STS12 MSRpar", "sts12", "MSRpar", "spearmanr", 44),
        ("translation", "multi30k", "multi30k", None, "sacrebleu", 51.254),
    ]
    assert data.model_name == "name"


def test_where_a_folder_lies_is_nobodys_business():
    assert "/private" not in yaml.safe_dump(model_index("m", [BLEU]))
    assert "/private" not in str(BLEU.record())
    (only,) = read_back(model_index("m", [replace(BLEU, dataset="C:\\mine\\my set\\")])).eval_results
    assert (only.dataset_name, only.dataset_type) == ("my set", "my-set")


@pytest.mark.parametrize("value", [None, math.nan, math.inf, -math.inf, True])
def test_what_is_no_number_is_never_claimed(value):
    assert model_index("m", [replace(BLEU, value=value)]) is None
    assert "model-index" not in set_metadata("---\na: 1\n---\n", "model-index", model_index("m", []))


@pytest.mark.parametrize("dataset", [None, "", "  "])
def test_a_number_of_no_data_is_never_claimed(dataset):
    assert model_index("m", [replace(BLEU, dataset=dataset)]) is None


def test_a_result_is_the_same_that_the_hubs_own_library_writes():
    (entry,) = model_index("m", [BLEU])
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
    ours = read_back([entry]).eval_results
    assert ours == ModelCardData(**theirs).eval_results
    assert isinstance(ours[0], EvalResult)


def test_what_people_say_was_measured_stays_beside_what_we_measure():
    theirs = [{"name": "x", "results": [{"task": {"type": "t"}, "dataset": {"type": "d", "name": "D"}, "metrics": [
        {"type": "accuracy", "value": 0.5, "verified": True}]}]}]  # fmt: skip
    index = updated_model_index("m", theirs, [], [BLEU])
    first, second = read_back(index).eval_results
    assert (first.dataset_name, first.metric_value, first.verified) == ("D", 0.5, True)
    assert second.metric_value == 51.254
    assert updated_model_index("m", index, [BLEU], []) == model_index_of(first)
    assert updated_model_index("m", [], [BLEU], []) is None


def model_index_of(*results):
    return ModelCardData(model_name="m", eval_results=list(results)).to_dict()["model-index"]


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["task", "dataset", "metric", "value", "name", "task_name", "config", "split", "results"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)


@settings(deadline=None, max_examples=60)
@given(JSON, JSON)
def test_no_record_however_strange_raises_and_every_value_is_a_finite_number(record, index):
    found = Measurement.of_record(record)
    assert found is None or math.isfinite(found.value)
    assert Measurement.of_record(PEARSON.record()) == PEARSON
    updated = updated_model_index("m", index, [] if found is None else [found], [PEARSON])
    assert PEARSON.value in [item.metric_value for item in read_back(updated).eval_results]

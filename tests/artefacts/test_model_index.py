from __future__ import annotations

import math

import pytest
import yaml
from huggingface_hub import EvalResult, ModelCard, ModelCardData, metadata_eval_result
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_paraphrase.artefacts.card_metadata import set_metadata
from hf_paraphrase.artefacts.model_index import measured_results, model_index

MEAN = {"label": "STS12 mean", "present": 2, "expected": 2, "complete": True}
STS = {
    "kind": "evaluate",
    "suite": "sts",
    "sets": [
        {"family": "STS12", "name": "MSRpar", "n": 750, "pearson": 45.678901, "spearman": 44.0},
        {"family": "STS12", "name": "MSRvid", "n": 750, "pearson": 80.125, "spearman": 79.5},
    ],
    "means": {
        "STS12 mean": {**MEAN, "pearson": 62.9019505, "spearman": 61.75},
        "22 sets": {
            "label": "22 sets (2 present)",
            "present": 2,
            "complete": False,
            "pearson": 62.9,
            "spearman": 61.7,
        },
        "STS16 mean": {"label": "STS16 mean (0 present)", "present": 0, "pearson": None, "spearman": None},
    },
}
NMT = {
    "kind": "evaluate-nmt",
    "bitext": "multi30k",
    "split": "test",
    "scores": [
        {"num_beams": 5, "bleu": 53.1, "chrf": 69.5, "bleu_signature": "nrefs:1|case:lc", "chrf_signature": "nc:6"},
        {"num_beams": 50, "bleu": 53.4, "chrf": 69.6, "bleu_signature": "nrefs:1|case:lc", "chrf_signature": "nc:6"},
    ],
}
TRAINED = {
    "command": "hf-paraphrase train-nmt",
    "settings": {"bitext": ["/private/place/multi30k"], "dev_split": "validation"},
    "results": {"dev_bleu": 51.254},
}


def read_back(index):
    card = set_metadata("---\ntags:\n- x\n---\n# Title\n", "model-index", index)
    return ModelCard(card).data


def test_every_set_and_every_mean_over_a_whole_group_comes_back_from_the_head_with_its_value():
    record = {"evaluations": {"evaluate sts": STS}}
    data = read_back(model_index("name", record))
    found = {(item.dataset_name, item.metric_type): item.metric_value for item in data.eval_results}
    assert found == {
        ("STS12 MSRpar", "pearsonr"): 45.678901,
        ("STS12 MSRpar", "spearmanr"): 44.0,
        ("STS12 MSRvid", "pearsonr"): 80.125,
        ("STS12 MSRvid", "spearmanr"): 79.5,
        ("STS12 mean", "pearsonr"): 62.9019505,
        ("STS12 mean", "spearmanr"): 61.75,
    }
    assert data.model_name == "name"
    assert {(item.task_type, item.dataset_type, item.dataset_config) for item in data.eval_results} == {
        ("sentence-similarity", "sts12", "MSRpar"),
        ("sentence-similarity", "sts12", "MSRvid"),
        ("sentence-similarity", "sts12-mean", None),
    }


def test_classifiers_and_vectors_of_two_languages_name_their_own_tasks():
    runs = {
        "train-parallel-classifier": {"dev": {"best_f1": 91.25}},
        "train-bilingual-vectors": {"retrieval": {"mean": 72.5}},
    }
    found = []
    for command, results in runs.items():
        record = {"command": f"hf-paraphrase {command}", "settings": {"bitext": "/x/tatoeba"}, "results": results}
        (item,) = read_back(model_index("m", record)).eval_results
        found.append((item.task_type, item.task_name, item.dataset_name, item.dataset_split, item.metric_value))
    assert found == [
        ("text-classification", "Telling translations from other sentences", "tatoeba", "validation", 91.25),
        ("sentence-similarity", "Finding translations", "tatoeba", "validation", 72.5),
    ]
    record = {"command": "hf-paraphrase train-bilingual-vectors", "results": {"retrieval": None}}
    assert measured_results(record) == []


def test_translation_scores_of_training_and_of_each_beam_are_told_apart():
    record = {**TRAINED, "evaluations": {"evaluate-nmt multi30k/test": NMT}}
    results = read_back(model_index("m", record)).eval_results
    bleu = [
        (item.dataset_split, item.metric_name, item.metric_value)
        for item in results
        if item.metric_type == "sacrebleu"
    ]
    assert bleu == [
        ("validation", "BLEU (greedy, case-insensitive; it chose the checkpoint)", 51.254),
        ("test", "BLEU, beam 5 (nrefs:1|case:lc)", 53.1),
        ("test", "BLEU, beam 50 (nrefs:1|case:lc)", 53.4),
    ]
    assert {item.dataset_name for item in results} == {"multi30k"}
    assert "/private" not in yaml.safe_dump(model_index("m", record))


def test_a_classifier_has_its_accuracy_and_a_graded_set_its_split():
    record = {
        "command": "hf-paraphrase train-classifier",
        "settings": {"pairs": "runs/pairs/"},
        "results": {"test": {"accuracy": 71.5}, "dev": {"accuracy": 72.25}},
    }
    found = read_back(model_index("c", record)).eval_results
    assert [(item.dataset_name, item.dataset_split, item.metric_value) for item in found] == [
        ("pairs", "test", 71.5),
        ("pairs", "dev", 72.25),
    ]
    graded = {
        "kind": "evaluate",
        "sets": [{"family": "graded", "name": "my set/dev", "pearson": 10, "spearman": 20.5}],
    }
    (first, _) = measured_results({"evaluations": {"x": graded}})
    assert (first.data, first.data_type, first.config, first.split) == ("my set", "my-set", None, "dev")


def test_an_encoder_has_its_dev_score_only_if_there_was_a_dev_set():
    record = {"command": "hf-paraphrase train-encoder", "settings": {"dev_data": "sts"}, "results": {"dev_best": 70.5}}
    (only,) = measured_results(record)
    assert (only.data, only.split, only.value) == ("sts", "dev", 70.5) and "chose the epoch" in only.metric_name
    assert model_index("m", {**record, "results": {"dev_best": None}}) is None
    assert model_index("m", {**record, "settings": {"dev_data": None}}) is None


@pytest.mark.parametrize(
    "record",
    [
        {},
        {"command": "hf-paraphrase train-tokenizer", "results": {"dev_bleu": 99.0, "accuracy": 1.0}},
        {**TRAINED, "results": {}},
        {**TRAINED, "results": {"dev_bleu": None}},
        {**TRAINED, "results": {"dev_bleu": "99"}},
        {**TRAINED, "results": {"dev_bleu": True}},
        {**TRAINED, "results": {"dev_bleu": math.nan}},
        {**TRAINED, "settings": {}},
        {**TRAINED, "settings": {"bitext": []}},
        {"evaluations": {"x": {"kind": "rumour", "sets": STS["sets"]}}},
        {"evaluations": {"x": {**STS, "sets": "many", "means": []}}},
        {"evaluations": {"x": [STS]}},
    ],
)
def test_what_was_not_measured_is_never_claimed(record):
    assert measured_results(record) == [] and model_index("m", record) is None
    assert "model-index" not in set_metadata("---\na: 1\n---\n", "model-index", model_index("m", record))


def test_a_result_is_the_same_that_the_hubs_own_library_writes():
    (entry,) = model_index("m", TRAINED)
    (result,) = measured_results(TRAINED)
    theirs = metadata_eval_result(
        model_pretty_name="m",
        task_pretty_name="Translation",
        task_id="translation",
        metrics_pretty_name=result.metric_name,
        metrics_id="sacrebleu",
        metrics_value=51.254,
        dataset_pretty_name="multi30k",
        dataset_id="multi30k",
        dataset_split="validation",
    )
    ours = read_back([entry]).eval_results
    assert ours == ModelCardData(**theirs).eval_results
    assert isinstance(ours[0], EvalResult)


KEYS = [*STS, *STS["sets"][0], *MEAN, *NMT, "dev_bleu", "bitext", "data", "task", "metrics", "cosine", "accuracy"]
JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    *STS,
                    *STS["sets"][0],
                    *MEAN,
                    *NMT,
                    "dev_bleu",
                    "bitext",
                    "data",
                    "task",
                    "metrics",
                    "cosine",
                    "accuracy",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)


@settings(deadline=None, max_examples=60)
@given(JSON, JSON, JSON, st.sampled_from(["train-nmt", "train-classifier", "train-encoder"]))
def test_no_record_however_strange_raises_and_every_value_is_a_finite_number(
    results, given_settings, evaluation, verb
):
    evaluations = {"x": {**evaluation, "kind": "evaluate"} if isinstance(evaluation, dict) else evaluation}
    record = {
        "command": f"hf-paraphrase {verb}",
        "results": results,
        "settings": given_settings,
        "evaluations": {
            **evaluations,
            "y": {"kind": "evaluate-nmt", "scores": evaluation},
            "z": {"kind": "evaluate-paraphrase", "tasks": evaluation},
            "t": {"kind": "evaluate-senteval", "tasks": evaluation},
        },
    }
    assert all(math.isfinite(item.value) for item in measured_results(record))
    index = model_index("m", record)
    if index is not None:
        assert len(read_back(index).eval_results) == len(measured_results(record))


def test_transfer_tasks_have_their_measures_and_say_what_they_were_tested_on():
    tasks = [
        {"task": "MRPC", "tested_on": "test", "metrics": {"accuracy": 70.5, "f1": 80.25}},
        {"task": "SICK-R", "tested_on": "trial, not test", "metrics": {"pearson": 71.5, "spearman": 66.0, "mse": 0.5}},
    ]
    record = {"evaluations": {"x": {"kind": "evaluate-senteval", "tasks": tasks}}}
    assert [(item.data, item.metric, item.value, item.split) for item in measured_results(record)] == [
        ("MRPC", "accuracy", 70.5, "test"),
        ("MRPC", "f1", 80.25, "test"),
        ("SICK-R", "pearsonr", 71.5, "trial, not test"),
        ("SICK-R", "spearmanr", 66.0, "trial, not test"),
    ]
    assert len(read_back(model_index("m", record)).eval_results) == 4


def test_paraphrase_detection_has_its_accuracy_and_what_the_cosine_reaches_in_per_cent():
    task = {
        "data": "opusparcus-fi",
        "test_split": "test",
        "perceptron": {"accuracy": 0.803},
        "cosine": {"average_precision": 0.91, "accuracy": 0.82, "f1": 0.85, "f1_threshold": None},
    }
    record = {"evaluations": {"x": {"kind": "evaluate-paraphrase", "tasks": [task, {"data": "y"}]}}}
    found = [(item.metric, item.value, item.data, item.split) for item in measured_results(record)]
    assert found == [
        ("accuracy", 80.3, "opusparcus-fi", "test"),
        ("average_precision", 91.0, "opusparcus-fi", "test"),
        ("accuracy", 82.0, "opusparcus-fi", "test"),
        ("f1", 85.0, "opusparcus-fi", "test"),
    ]
    (entry,) = model_index("m", record)
    assert {result["task"]["name"] for result in entry["results"]} == {"Paraphrase detection"}

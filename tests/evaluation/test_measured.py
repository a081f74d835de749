"""What evaluations hand over for the head of a card."""

from __future__ import annotations

import numpy as np
import pytest

from hf_paraphrase.encoders.model_folder import dev_measurement
from hf_paraphrase.evaluation.graded_set import GradedSet, score_with_similarity
from hf_paraphrase.evaluation.labelled_set import LabelledSet
from hf_paraphrase.evaluation.paraphrase import DetectionResult, DetectionTask
from hf_paraphrase.evaluation.sts import evaluate_scored
from hf_paraphrase.evaluation.transfer.suite import TaskResult
from hf_paraphrase.studies.supervised.scores import score_measurements


def graded(family, name):
    scores = np.array([0.0, 1.0, 2.0, 5.0])
    return GradedSet(name, family, ["a", "b", "c", "d"], ["a", "b", "c", "d"], scores)


def evaluated(*sets):
    return evaluate_scored(score_with_similarity(lambda first, second: np.array([0.1, 0.2, 0.3, 0.35]), sets))


def places(measurements):
    return [(item.dataset, item.config, item.split, item.metric) for item in measurements]


def test_every_set_and_every_mean_over_a_whole_group_is_measured():
    whole = [graded("STS13", name) for name in ("FNWN", "OnWN", "headlines", "SMT")]
    result = evaluated(*whole, graded("STS12", "MSRpar"))
    found = result.measurements()
    assert ("STS13", "FNWN", None, "pearsonr") in places(found)
    assert ("STS12", "MSRpar", None, "spearmanr") in places(found)
    assert {place[0] for place in places(found)} == {"STS13", "STS12", "STS13 mean"}
    values = {item.metric: item.value for item in found if item.dataset == "STS13 mean"}
    assert values == {"pearsonr": result.mean("STS13 mean").pearson, "spearmanr": 100.0}
    assert {item.task for item in found} == {"sentence-similarity"}


def test_a_graded_folder_has_its_split():
    found = evaluated(graded("graded", "my set/dev")).measurements()
    assert places(found) == [("my set", None, "dev", "pearsonr"), ("my set", None, "dev", "spearmanr")]


def test_paraphrase_detection_has_its_accuracy_and_what_the_cosine_reaches_in_per_cent():
    places_of = np.arange(2)
    pairs = LabelledSet("set", ["a", "b"], ["c", "d"], np.array([0, 1]))
    task = DetectionTask("opusparcus-fi", pairs, ((places_of, places_of),), ("validation", "test"))
    cosine = {"average_precision": 0.91, "accuracy": 0.82, "f1": 0.85, "f1_threshold": None}
    found = DetectionResult(task, (0.803,), cosine).measurements()
    assert [(item.metric, item.value, item.dataset, item.split) for item in found] == [
        ("accuracy", 80.3, "opusparcus-fi", "test"),
        ("average_precision", 91.0, "opusparcus-fi", "test"),
        ("accuracy", 82.0, "opusparcus-fi", "test"),
        ("f1", 85.0, "opusparcus-fi", "test"),
    ]
    assert all(item.known for item in found)
    assert {item.task_name for item in found} == {"Paraphrase detection"}


def test_transfer_tasks_have_their_measures_and_say_what_they_were_tested_on():
    classes = TaskResult("MRPC", "test", 9, 9, {"accuracy": 70.5, "f1": 80.25}, {})
    scores = TaskResult("SICK-R", "trial, not test", 9, 9, {"pearson": 71.5, "spearman": 66.0, "mse": 0.5}, {})
    found = [*classes.measurements(), *scores.measurements()]
    assert [(item.dataset, item.metric, item.value, item.split) for item in found] == [
        ("MRPC", "accuracy", 70.5, "test"),
        ("MRPC", "f1", 80.25, "test"),
        ("SICK-R", "pearsonr", 71.5, "trial, not test"),
        ("SICK-R", "spearmanr", 66.0, "trial, not test"),
    ]


def test_an_encoder_has_its_dev_score_only_if_there_was_a_dev_set():
    item = dev_measurement("data/sts", 70.5, [{"dev_mean": 70.5}])
    assert (item.metric, item.split, item.value) == ("pearsonr", "dev", 70.5) and "chose the epoch" in item.name
    assert not dev_measurement(None, 70.5, []).known
    assert not dev_measurement("sts", None, []).known
    found = dev_measurement("bitext", 12.0, [{"dev_mean": 12.0, "source_to_target": 1.0}])
    assert (found.metric, found.split, found.task_name) == ("precision", "validation", "Finding translations")


@pytest.mark.parametrize(
    ("scores", "task", "metrics"),
    [
        ({"accuracy": 1.0, "floor": 2.0, "macro_f1": 3.0, "rows": 4}, "text-classification", ["accuracy", "f1"]),
        ({"pearson": 1.0, "spearman": 2.0, "mse": 3.0}, "sentence-similarity", ["pearsonr", "spearmanr", "mse"]),
        ({}, None, []),
    ],
)
def test_supervised_models_have_the_measures_of_their_kind(scores, task, metrics):
    found = score_measurements(scores, "folder/data", "test", "; a note")
    assert [item.metric for item in found] == metrics and {item.task for item in found} <= {task}
    assert all("; a note" in item.name and item.split == "test" for item in found)

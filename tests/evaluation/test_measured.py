"""What evaluations hand over for tables and for the head of a card."""

from __future__ import annotations

import pytest

from hf_paraphrase.encoders.model_folder import dev_measurement
from hf_paraphrase.evaluation.paraphrase import detection_measurements
from hf_paraphrase.studies.supervised.tasks import score_measurements
from hf_paraphrase.tables import format_table


def test_table_columns_line_up_and_pipes_are_escaped():
    lines = format_table(["name", "n"], [["a|b", "1"], ["longer name", "1,000"]]).splitlines()
    assert len({len(line) for line in lines}) == 1
    assert lines[2].startswith("| a\\|b ") and lines[2].endswith("    1 |")


def test_paraphrase_detection_has_its_accuracy_and_what_the_cosine_reaches_in_per_cent():
    cosine = {"average_precision": 0.91, "accuracy": 0.82, "f1": 0.85, "f1_threshold": None}
    result = {"data": "opusparcus-fi", "test_split": "test", "perceptron": {"accuracy": 0.803}, "cosine": cosine}
    found = detection_measurements(result)
    assert [(item.metric, item.value) for item in found] == [
        ("accuracy", 80.3), ("average_precision", 91.0), ("accuracy", 82.0), ("f1", 85.0),
    ]  # fmt: skip
    assert {(item.dataset, item.split, item.known) for item in found} == {("opusparcus-fi", "test", True)}
    assert len(detection_measurements({**result, "perceptron": None})) == 3


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

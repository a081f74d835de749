from __future__ import annotations

import math
import re
import shutil
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_paraphrase.artefacts.card_metadata import read_card, split_card
from hf_paraphrase.hub.pushed_files import check_artefact, detect_repo_type, list_files
from hf_paraphrase.metrics import METRICS, load_metric, metric_path
from hf_paraphrase.vectors.similarity import correlations


@pytest.fixture(scope="module")
def sts():
    return load_metric("sts_correlation")


@pytest.fixture(scope="module")
def detection():
    return load_metric("paraphrase_detection")


def test_correlations_and_their_means_equal_those_of_the_package(sts):
    generator = np.random.default_rng(0)
    x, y = generator.normal(size=60), generator.integers(0, 6, size=60).astype(float)
    groups = [("a", "b", "c")[number % 3] for number in range(60)]
    found = sts.compute(predictions=x, references=y, groups=groups)
    assert (found["pearson"], found["spearman"]) == pytest.approx(correlations(x, y)[:2], abs=1e-10)
    expected = [correlations(x[start::3], y[start::3])[:2] for start in range(3)]
    for name, values in zip("abc", expected, strict=True):
        group = found["groups"][name]
        assert (group["pearson"], group["spearman"], group["pairs"]) == (*map(pytest.approx, values), 20)
    assert (found["mean_pearson"], found["mean_spearman"]) == pytest.approx(tuple(np.mean(expected, axis=0)))
    assert found["undefined"] == [] and found["pairs"] == 60


def test_a_correlation_that_is_not_defined_counts_as_zero_as_in_the_package_and_is_named(sts):
    x, y = [1.0, 1.0, 0.2, 0.3], [1.0, 2.0, 3.0, 4.0]
    found = sts.compute(predictions=x, references=y, groups=["same", "same", "good", "good"])
    assert found["undefined"] == ["same"] and found["groups"]["same"]["pearson"] == 0.0
    assert found["mean_pearson"] == pytest.approx(50)
    alone = sts.compute(predictions=[0.1] * 3, references=[1, 2, 3])
    assert (alone["pearson"], alone["spearman"], alone["undefined"]) == (0.0, 0.0, ["all"])
    assert "mean_pearson" not in alone


def by_trying_every_threshold(scores, labels):
    """The definitions, with every set of pairs that some threshold takes."""
    pairs = sorted(zip(scores, labels, strict=True), reverse=True)
    positives = sum(labels)
    accuracy, f1, average_precision, recall = (len(labels) - positives) / len(labels), 0.0, 0.0, 0.0
    for border in sorted(set(scores), reverse=True):
        taken = [label for score, label in pairs if score >= border]
        hits = sum(taken)
        accuracy = max(accuracy, (hits + len(labels) - positives - (len(taken) - hits)) / len(labels))
        f1 = max(f1, 2 * hits / (len(taken) + positives))
        average_precision += hits / len(taken) * (hits / positives - recall)
        recall = hits / positives
    return accuracy, f1, average_precision


LABELLED = st.lists(
    st.tuples(st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.9, -0.3, 1e-17]), st.integers(0, 1)), min_size=2, max_size=12
).filter(lambda pairs: len({label for _, label in pairs}) == 2)


@settings(max_examples=20, deadline=None)
@given(LABELLED)
def test_detection_equals_trying_every_threshold_also_with_ties(detection, pairs):
    scores, labels = [score for score, _ in pairs], [label for _, label in pairs]
    found = detection.compute(predictions=scores, references=labels)
    expected = by_trying_every_threshold(scores, labels)
    assert (found["accuracy"], found["f1"], found["average_precision"]) == pytest.approx(expected)
    # What the thresholds promise is what one gets with them.
    for kind in ("accuracy", "f1"):
        again = detection.compute(predictions=scores, references=labels, threshold=found[f"{kind}_threshold"])
        assert again[f"{kind}_at"] == pytest.approx(found[kind])


def test_golden_values_of_detection(detection):
    found = detection.compute(predictions=[0.9, 0.8, 0.7, 0.2], references=[1, 0, 1, 0], threshold=0.75)
    assert (found["accuracy_threshold"], found["f1_threshold"]) == pytest.approx((0.85, 0.45))
    assert (found["precision_at"], found["recall_at"], found["accuracy_at"]) == (0.5, 0.5, 0.5)
    # No threshold is better than taking no pair.
    found = detection.compute(predictions=[0.9, 0.8, 0.7], references=[0, 0, 1])
    assert found["accuracy"] == pytest.approx(2 / 3) and found["accuracy_threshold"] == math.inf
    with pytest.raises(ValueError, match="all 2 references are 1"):
        detection.compute(predictions=[0.1, 0.2], references=[1, 1])
    with pytest.raises(ValueError, match=r"predictions\[1\] is nan"):
        detection.compute(predictions=[0.1, math.nan], references=[0, 1])


@pytest.mark.parametrize("name", METRICS)
def test_a_metric_folder_is_a_whole_space_whose_requirements_are_named(name):
    folder = metric_path(name)
    (files, _), (head, _) = list_files(folder), split_card(read_card(folder))
    assert detect_repo_type(folder, files, head) == "space"
    check_artefact(folder, "space", files)
    assert f'with_name("{name}.py")' in (folder / "app.py").read_text()
    required = set(re.findall(r"^(\w+)", (folder / "requirements.txt").read_text(), re.MULTILINE))
    imported = set(re.findall(r"^(?:import|from) (\w+)", (folder / f"{name}.py").read_text(), re.MULTILINE))
    assert "hf_paraphrase" not in imported and "gradio" in required
    assert imported - set(sys.stdlib_module_names) <= required


def test_the_metrics_travel_alone(tmp_path, run_python):
    """Copies the folders away and opens them where this package cannot be imported."""
    for name in METRICS:
        shutil.copytree(metric_path(name), tmp_path / name, ignore=shutil.ignore_patterns("__*"))
    script = (
        "import sys\n"
        "sys.modules['hf_paraphrase'] = None\n"
        "import evaluate\n"
        f"for name in {METRICS!r}:\n"
        "    print(len(evaluate.load('./' + name).compute(predictions=[1, 2, 3], references=[0, 0, 1])))\n"
    )
    environment = {"HF_EVALUATE_OFFLINE": "1", "HF_MODULES_CACHE": str(tmp_path / "modules")}
    result = run_python(script, folder=tmp_path, environment=environment)
    assert (result.returncode, result.stdout) == (0, "4\n7\n"), result.stderr[-2000:]

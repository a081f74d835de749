from __future__ import annotations

import numpy as np
import pytest
from small_runs import write_rows

import hf_paraphrase
from hf_paraphrase.commands import main
from hf_paraphrase.errors import InputError, UsageError
from hf_paraphrase.evaluation import paraphrase
from hf_paraphrase.evaluation.baselines import Scorer
from hf_paraphrase.evaluation.paraphrase import (
    compute_top_1,
    evaluate_detection,
    format_detection,
    list_detection_measurements,
    predict_paraphrases,
    read_task,
)
from hf_paraphrase.evaluation.suite import Scores
from hf_paraphrase.metrics.paraphrase_detection.paraphrase_detection import detection_measures
from hf_paraphrase.vectors.similarity import cosine_similarities


def write(folder, split, rows):
    write_rows(folder, split, "sentence1 sentence2 label", rows)


def numbered(start, count):
    """Pairs of numbers as texts; a paraphrase where they are close."""
    generator = np.random.default_rng(start)
    rows = []
    for place in range(count):
        a, b = generator.uniform(-3, 3, 2)
        rows.append((f"{start + place} {a:.3f}", f"{start + place} {b:.3f}", int(abs(a - b) < 1.5)))
    return rows


def encode(texts):
    """Two-dimensional vectors of the second word."""
    angles = np.array([float(text.split()[1]) for text in texts])
    return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


def report(results):
    return format_detection([Scores("m", "model", {"tasks": results})])


@pytest.fixture
def folder(tmp_path):
    write(tmp_path, "validation", numbered(1000, 120))
    write(tmp_path, "test", numbered(2000, 80))
    return tmp_path


def vectors(count, seed=0, dim=6):
    generator = np.random.default_rng(seed)
    first, second = generator.standard_normal((2, count, dim)).astype(np.float32)
    labels = (first[:, 0] * 2 + second[:, 1] > 0).astype(np.int64)
    return first, second, labels


def test_a_seed_gives_the_same_perceptron_alone_and_in_company_whatever_the_scale_of_the_vectors():
    first, second, labels = vectors(150)
    labels[::7] ^= 1
    test = vectors(400, seed=1)[:2]
    (alone,) = predict_paraphrases((first, second), labels, test, seeds=[3])
    scaled = (first * 1024, second * 1024), labels, (test[0] * 1024, test[1] * 1024)
    company = predict_paraphrases(*scaled, seeds=[5, 3])
    np.testing.assert_array_equal(company[1], alone)
    assert (company[0] != alone).any()


def test_the_cosines_measures_are_those_of_the_metric_with_the_thresholds_of_dev(folder):
    task = read_task(folder)
    (result,) = evaluate_detection(Scorer("m", "model", encode), [task], seeds=[1])
    similarities = cosine_similarities(encode(task.pairs.sentences1), encode(task.pairs.sentences2))
    ((dev, test),) = task.folds
    labels = task.pairs.labels
    on_dev = detection_measures(similarities[dev], labels[dev])
    plain = detection_measures(similarities[test], labels[test])
    for name in ("average_precision", "accuracy", "f1", "accuracy_threshold", "f1_threshold"):
        assert result["cosine"][name] == plain[name]
    for name in ("accuracy", "f1"):
        at = detection_measures(similarities[test], labels[test], on_dev[f"{name}_threshold"])
        assert result["cosine"][f"{name}_at_dev"] == pytest.approx(at[f"{name}_at"])
        assert result["cosine"][f"dev_{name}_threshold"] == on_dev[f"{name}_threshold"]
    assert result["cosine"]["accuracy"] > 0.8


def test_top_1_is_how_often_the_likest_candidate_is_a_paraphrase_where_all_have_some_to_choose_from():
    def found(rows):
        sentences, similarities, labels = ([row[place] for row in rows] for place in range(3))
        return compute_top_1(sentences, np.array(similarities), np.array(labels, dtype=np.int64))

    assert found([("a", 0.9, 1), ("A.", 0.5, 0), ("b", 0.3, 0), ("a", 0.1, 1), ("B", 0.4, 1)]) == 1
    assert found([("a", 0.9, 1), ("a", 0.9, 0), ("a", 0.9, 0), ("a", 0.1, 0)]) == pytest.approx(1 / 3)
    assert found([("a", 0.9, 1), ("a", 0.5, 0), ("b", 0.2, 1)]) is None


def test_top_1_is_in_the_table_of_a_task_of_retrieval_and_a_dash_for_others(tmp_path, folder):
    rows = [(f"{n} 0.0 query", f"{n}{m} {0.1 if m == n % 2 else 0.4}", int(m == 0)) for n in range(40) for m in (0, 1)]
    write(tmp_path / "asked", "test", rows)
    tasks = [read_task(tmp_path / "asked", dev_split="test", test_split="test"), read_task(folder)]
    lines = report(evaluate_detection(Scorer("m", "model", encode), tasks, seeds=())).splitlines()
    assert "top 1" in lines[-4] and lines[-2].endswith(" 50.0 |") and lines[-1].endswith(" – |")


def test_the_perceptrons_accuracy_is_over_test_pairs_only_and_dev_pairs_teach_it(folder):
    task = read_task(folder)
    (result,) = evaluate_detection(Scorer("m", "model", encode), [task], seeds=[1, 2, 3])
    ((dev, test),) = task.folds
    first, second = encode(task.pairs.sentences1), encode(task.pairs.sentences2)
    labels = task.pairs.labels
    called = predict_paraphrases((first[dev], second[dev]), labels[dev], (first[test], second[test]), seeds=[1, 2, 3])
    right = (called == (labels[test] == 1)).mean(axis=1)
    assert right.mean() > 0.7
    assert result["perceptron"]["accuracies"] == pytest.approx(right.tolist())
    assert result["perceptron"]["accuracy"] == pytest.approx(right.mean())
    assert result["perceptron"]["standard_deviation"] == pytest.approx(right.std(ddof=1))
    assert result["test"]["pairs"] == 80 and result["all_paraphrases"] == labels[test].mean()
    accuracy, *_ = list_detection_measurements(result)
    assert (accuracy.metric, accuracy.split, accuracy.value) == ("accuracy", "test", pytest.approx(100 * right.mean()))


def test_test_pairs_are_left_out_of_dev_and_the_test_set_stays_whole(tmp_path):
    dev, test = numbered(1000, 40), numbered(2000, 40)
    write(tmp_path, "validation", [*dev, *((b, a.upper(), label) for a, b, label in test[:9])])
    write(tmp_path, "test", test)
    task = read_task(tmp_path)
    ((development, tested),) = task.folds
    assert (len(development), len(tested), task.overlapping) == (40, 40, 9)
    results = evaluate_detection(Scorer("m", "model", encode), [task], seeds=())
    assert "9 dev pairs left out" in report(results)
    assert [item.metric for item in list_detection_measurements(results[0])] == ["average_precision", "accuracy", "f1"]


@pytest.mark.parametrize("column", ["label", "score"])
def test_a_file_is_the_split_train_and_any_other_is_refused(column, tmp_path, capsys):
    rows = "".join(f"a {row},b {row},{row % 2}\n" for row in range(20))
    (tmp_path / "pairs.csv").write_text(f"sentence1,sentence2,{column}\n{rows}")
    words = ["evaluate", "--data", str(tmp_path / "pairs.csv"), "--baseline", "words"]
    seeds = ["--seeds", "0"] if column == "label" else []
    assert main([*words, *seeds]) == 0
    for option in ("--dev-split", "--test-split") if column == "label" else ("--split",):
        assert main([*words, *seeds, option, "train"]) == 0
        capsys.readouterr()
        assert main([*words, *seeds, option, "held_out"]) == main([*words, *seeds, option, "dev"]) == 2
        errors = capsys.readouterr().err
        assert all(f"no split `{name}` (the splits are train)" in errors for name in ("held_out", "dev"))


def test_one_split_is_parted_into_folds_of_which_each_pair_is_tested_once(tmp_path):
    write(tmp_path, "validation", numbered(1000, 60))
    task = read_task(tmp_path, test_split="validation")
    assert len(task.folds) == 5 and sorted(task.tested.tolist()) == list(range(60))
    assert all(sorted([*dev, *test]) == list(range(60)) for dev, test in task.folds)
    (result,) = evaluate_detection(Scorer("m", "model", encode), [task], seeds=())
    assert "dev_f1_threshold" not in result["cosine"] and 0.5 < result["cosine"]["accuracy_at_dev"] <= 1
    assert result["perceptron"] is None and result["dev"]["pairs"] == result["test"]["pairs"] == 60
    write(tmp_path, "validation", [("a b", "c", 1), ("d", "e", 1)])
    with pytest.raises(InputError, match="pairs of one class only, 2"):
        read_task(tmp_path, test_split="validation")


def test_without_scikit_learn_the_cosine_alone_is_measured(folder, monkeypatch):
    monkeypatch.setattr(paraphrase, "find_spec", lambda name: None)
    options = {"data": folder, "baseline": ["words"], "suite": "paraphrase"}
    found = hf_paraphrase.evaluate(**options)
    assert found.record["results"][0]["tasks"][0]["perceptron"] is None
    with pytest.raises(UsageError, match=r"hf-paraphrase\[classification\]"):
        hf_paraphrase.evaluate(**options, seeds=3)

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import log_softmax

from hf_paraphrase.errors import UsageError
from hf_paraphrase.evaluation import classifiers
from hf_paraphrase.evaluation.classifiers import (
    PENALTIES,
    best_penalty,
    fit_classifier,
    predict_classes,
    predict_scores,
    score_distribution,
    stratified_folds,
)


def examples(count, classes=2, dim=5, seed=0):
    generator = np.random.default_rng(seed)
    features = generator.standard_normal((count, dim))
    return features, (features[:, :classes] + generator.standard_normal((count, classes))).argmax(axis=1)


def test_the_penalty_is_a_weight_decay_beside_the_mean_loss():
    features, gold = examples(150, classes=3)
    penalty = 0.05

    def loss(flat):
        weights = flat.reshape(3, 6)
        logits = features @ weights[:, :5].T + weights[:, 5]
        right = log_softmax(logits, axis=1)[np.arange(150), gold].mean()
        return -right + penalty / 2 * (weights[:, :5] ** 2).sum()

    naive = minimize(loss, np.zeros(18), tol=1e-9).x.reshape(3, 6)
    np.testing.assert_allclose(fit_classifier(features, gold, penalty).coef_, naive[:, :5], atol=5e-3)


def test_the_best_penalty_is_that_of_the_naive_loop():
    features, gold = examples(120)
    means = {}
    for penalty in PENALTIES:
        accuracies = []
        for train, test in stratified_folds(gold, 4):
            model = fit_classifier(features[train], gold[train], penalty)
            accuracies.append((model.predict(features[test]) == gold[test]).mean())
        means[penalty] = np.mean(accuracies)
    best = max(means, key=lambda penalty: (means[penalty], -penalty))
    assert best_penalty(features, gold, 4) == (best, pytest.approx(means[best]))


@settings(deadline=None)
@given(st.lists(st.floats(0, 5), min_size=1, max_size=20))
def test_the_expected_class_of_a_distributed_score_is_the_score(scores):
    rows, classes, weights = score_distribution(np.array(scores))
    for row, score in enumerate(scores):
        own = rows == row
        assert weights[own].sum() == pytest.approx(1) and np.abs(classes[own] - score).max(initial=0) <= 1
        assert (weights[own] * classes[own]).sum() == pytest.approx(score)


def test_predicted_scores_follow_the_features_and_the_dev_part_chooses_the_penalty():
    generator = np.random.default_rng(2)
    features = generator.standard_normal((300, 6))
    scores = np.clip(3 + features[:, 0] + 0.3 * generator.standard_normal(300), 1, 5)
    parts = {"train": slice(0, 200), "dev": slice(200, 250), "test": slice(250, 300)}
    part_features, part_scores = (
        {name: values[rows] for name, rows in parts.items()} for values in (features, scores)
    )
    predicted, dev = predict_scores(part_features, part_scores)
    rows, classes, weights = score_distribution(part_scores["train"])
    naive = {}
    for penalty in PENALTIES:
        model = fit_classifier(part_features["train"][rows], classes, penalty, weights)
        found = [model.predict_proba(part_features[part]) @ model.classes_ for part in ("dev", "test")]
        naive[np.corrcoef(found[0], part_scores["dev"])[0, 1]] = found[1]
    assert dev == pytest.approx(max(naive)) and predicted == pytest.approx(naive[max(naive)])
    assert np.corrcoef(predicted, scores[parts["test"]])[0, 1] > 0.8 and 0 <= predicted.min() < predicted.max() <= 5


def test_without_scikit_learn_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "sklearn", None)
    with pytest.raises(UsageError, match="scikit-learn") as raised:
        classifiers.check_sklearn()
    assert "hf-paraphrase[classification]" in str(raised.value.remedy)


def test_nested_folds_test_every_example_once_by_what_the_others_taught():
    features, gold = examples(90)
    predictions, dev = predict_classes(features, gold, None, 3)
    naive, dev_accuracies = np.empty_like(gold), []
    for train, held_out in stratified_folds(gold, 3):
        penalty, best = best_penalty(features[train], gold[train], 3)
        naive[held_out] = fit_classifier(features[train], gold[train], penalty).predict(features[held_out])
        dev_accuracies.append(best)
    np.testing.assert_array_equal(predictions, naive)
    assert dev == pytest.approx(np.mean(dev_accuracies))

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax

from hf_paraphrase.errors import UsageError
from hf_paraphrase.evaluation import classifiers
from hf_paraphrase.evaluation.classifiers import (
    PENALTIES,
    best_penalty,
    fit_classifier,
    predict_classes,
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

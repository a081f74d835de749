from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_paraphrase.errors import ModelError
from hf_paraphrase.evaluation.correlation import pearson
from hf_paraphrase.evaluation.transfer.classifier import PENALTIES, ClassifierSettings, Fold, RelatednessSettings
from hf_paraphrase.evaluation.transfer.cross_validation import (
    Protocol,
    dev_then_test,
    folds_then_test,
    nested_folds,
    stratified_folds,
)
from hf_paraphrase.evaluation.transfer.relatedness import predict_relatedness, score_distribution
from hf_paraphrase.evaluation.transfer.softmax_regressions import fit_softmax_regressions

QUICK = ClassifierSettings(batch_size=16, epoch_size=2, tenacity=2, most_epochs=30, learning_rate=0.02)


def examples(count, classes=2, dim=5, seed=0, noise=1.0):
    generator = np.random.default_rng(seed)
    features = generator.standard_normal((count, dim)).astype(np.float32)
    scores = features[:, :classes] + noise * generator.standard_normal((count, classes))
    return features, scores.argmax(axis=1)


def naive_fit(train, gold, dev, dev_gold, classes, penalty, quick=QUICK, seed=1111, hold_out=None):
    """One regression as SentEval's documentation and code describe it, with a module, autograd and torch's Adam."""
    numbers = np.random.RandomState(seed)
    torch.manual_seed(seed)
    model = torch.nn.Linear(train.shape[1], classes)
    adam = torch.optim.Adam(model.parameters(), lr=quick.learning_rate, weight_decay=penalty)
    if hold_out is not None:
        order = numbers.permutation(len(train))
        count = int(hold_out * len(train))
        dev, dev_gold = train[order[:count]], gold[order[:count]]
        train, gold = train[order[count:]], gold[order[count:]]
    train, gold, dev = torch.tensor(train), torch.tensor(gold), torch.tensor(dev)
    best, kept, failures, epochs = -1.0, None, 0, 0
    while epochs <= quick.most_epochs:
        for _ in range(quick.epoch_size):
            order = numbers.permutation(len(train))
            for start in range(0, len(train), quick.batch_size):
                rows = order[start : start + quick.batch_size]
                adam.zero_grad()
                torch.nn.functional.cross_entropy(model(train[rows]), gold[rows]).backward()
                adam.step()
        epochs += quick.epoch_size
        with torch.no_grad():
            accuracy = float((model(dev).argmax(dim=1).numpy() == dev_gold).mean())
        if accuracy > best:
            best, kept = accuracy, copy.deepcopy(model)
        else:
            failures += 1
            if failures > quick.tenacity:
                break
    return best, kept


def naive_best_penalty(features, gold, classes, folds):
    """The penalty with the best mean accuracy over folds, one regression after the other."""
    assignment = stratified_folds(gold, folds, 1111)
    means = []
    for penalty in PENALTIES:
        accuracies = []
        for fold in range(folds):
            train, dev = assignment != fold, assignment == fold
            accuracies.append(naive_fit(features[train], gold[train], features[dev], gold[dev], classes, penalty)[0])
        means.append(round(100 * np.mean(accuracies), 2))
    return PENALTIES[int(np.argmax(means))], max(means)


def naive_predict(model, features):
    with torch.no_grad():
        return model(torch.tensor(features)).argmax(dim=1).numpy()


@pytest.mark.parametrize("classes", [2, 4])
def test_regressions_in_lockstep_are_those_of_one_after_the_other(classes):
    features, gold = examples(130, classes)
    assignment = stratified_folds(gold, 4, 1111)
    rows = np.arange(len(gold))
    folds = [Fold(rows[assignment != fold], rows[assignment == fold]) for fold in range(4)]
    # One with fewer examples, so that not all can run in lockstep.
    folds.append(Fold(rows[:50], rows[50:90]))
    found = fit_softmax_regressions(features, gold, classes, folds, settings=QUICK)
    for fold, fitted in zip(folds, found, strict=True):
        for place, penalty in enumerate(PENALTIES):
            best, model = naive_fit(
                features[fold.train], gold[fold.train], features[fold.dev], gold[fold.dev], classes, penalty
            )
            assert fitted.accuracies[place] == pytest.approx(best)
            np.testing.assert_allclose(fitted.weights[place, :, :-1], model.weight.detach(), atol=2e-4)
            np.testing.assert_allclose(fitted.weights[place, :, -1], model.bias.detach(), atol=2e-4)
            assert (fitted.predict(features, place) == naive_predict(model, features)).mean() > 0.99


def test_strong_penalties_shrink_the_weights_and_the_bias_too():
    features, gold = examples(200)
    gold = np.where(np.random.default_rng(1).random(200) < 0.7, 1, gold)
    rows = np.arange(200)
    penalties = (1e-5, 1e-1, 10.0)
    # Looks never stop it, so that all train equally long.
    long = ClassifierSettings(tenacity=99, most_epochs=60, learning_rate=0.02)
    (fitted,) = fit_softmax_regressions(features, gold, 2, [Fold(rows[:150], rows[150:], penalties)], settings=long)
    sizes = np.abs(fitted.weights).max(axis=(1, 2))
    assert sizes[0] > sizes[1] and np.abs(fitted.weights[0, :, -1]).max() > np.abs(fitted.weights[2, :, -1]).max()


def test_progress_counts_every_regression_once():
    features, gold = examples(90)
    rows = np.arange(90)
    counted = []
    folds = [Fold(rows[:60], rows[60:]), Fold(rows[20:80], rows[:20]), Fold(rows[:40], rows[40:], (1e-3,))]
    fit_softmax_regressions(features, gold, 2, folds, settings=QUICK, progress=counted.append)
    assert sum(counted) == 9


def test_nested_folds_are_the_naive_loops():
    features, gold = examples(120, noise=1.5)
    folds = 3
    found = nested_folds(features, gold, 2, Protocol(folds=folds, settings=QUICK))
    outer = stratified_folds(gold, folds, 1111)
    accuracies, dev = [], []
    for fold in range(folds):
        train, test = outer != fold, outer == fold
        penalty, best = naive_best_penalty(features[train], gold[train], 2, folds)
        _, model = naive_fit(features[train], gold[train], None, None, 2, penalty, hold_out=0.05)
        predictions = naive_predict(model, features[test])
        np.testing.assert_array_equal(found.predictions[test], predictions)
        accuracies.append((predictions == gold[test]).mean())
        dev.append(best)
    assert found.accuracy == pytest.approx(np.mean(accuracies))
    assert 100 * found.dev_accuracy == pytest.approx(np.mean(dev))


def test_folds_of_the_train_part_choose_the_penalty_of_the_regression_that_is_tested():
    features, gold = examples(150, 3)
    train, test = slice(0, 110), slice(110, 150)
    found = folds_then_test(
        features[train], gold[train], features[test], gold[test], 3, Protocol(folds=3, settings=QUICK)
    )
    penalty, best = naive_best_penalty(features[train], gold[train], 3, 3)
    _, model = naive_fit(features[train], gold[train], None, None, 3, penalty, hold_out=0.05)
    np.testing.assert_array_equal(found.predictions, naive_predict(model, features[test]))
    assert found.accuracy == pytest.approx((found.predictions == gold[test]).mean())
    assert 100 * found.dev_accuracy == pytest.approx(best)


def test_a_given_dev_part_chooses_the_penalty():
    features, gold = examples(150, 3)
    places = {"train": slice(0, 80), "dev": slice(80, 110), "test": slice(110, 150)}
    parts = {name: features[place] for name, place in places.items()}
    labels = {name: gold[place] for name, place in places.items()}
    found = dev_then_test(parts, labels, 3, Protocol(settings=QUICK))
    fits = [
        naive_fit(parts["train"], labels["train"], parts["dev"], labels["dev"], 3, penalty) for penalty in PENALTIES
    ]
    place = int(np.argmax([round(100 * best, 2) for best, _ in fits]))
    np.testing.assert_array_equal(found.predictions, naive_predict(fits[place][1], parts["test"]))
    assert found.dev_accuracy == pytest.approx(fits[place][0])


def test_folds_are_those_of_scikit_learn():
    labels = np.array([1, 0, 1, 1, 2, 0, 0, 1, 2, 1, 0, 1, 1, 0, 2, 2, 1, 0, 1, 0])
    # StratifiedKFold(n_splits, shuffle=True, random_state) of scikit-learn 1.7.2.
    five = [3, 0, 4, 1, 2, 4, 4, 0, 1, 1, 1, 2, 0, 0, 4, 3, 2, 2, 3, 3]
    three = [0, 1, 2, 0, 1, 2, 1, 2, 2, 1, 0, 1, 2, 0, 1, 0, 0, 0, 1, 2]
    assert stratified_folds(labels, 5, 1111).tolist() == five
    assert stratified_folds(labels, 3, 7).tolist() == three


@settings(deadline=None)
@given(st.lists(st.integers(0, 4), min_size=5, max_size=80), st.integers(2, 10))
def test_every_class_is_spread_evenly_over_the_folds(labels, count):
    labels = np.array(labels)
    folds = stratified_folds(labels, count, 3)
    for label in set(labels.tolist()):
        sizes = np.bincount(folds[labels == label], minlength=count)
        assert sizes.max() - sizes.min() <= 1
    sizes = np.bincount(folds, minlength=count)
    assert sizes.max() - sizes.min() <= 1


def test_scores_are_spread_over_their_two_neighbours():
    spread = score_distribution(np.array([3.6, 1.0, 5.0, 4.25, 0.5, 0.0]))
    expected = [
        [0, 0, 0.4, 0.6, 0], [1, 0, 0, 0, 0], [0, 0, 0, 0, 1], [0, 0, 0, 0.75, 0.25], [0.5, 0, 0, 0, 0], [0] * 5,
    ]  # fmt: skip
    np.testing.assert_allclose(spread, expected, atol=1e-6)


@settings(deadline=None)
@given(st.lists(st.floats(1, 5), min_size=1, max_size=20))
def test_the_expected_class_of_a_spread_score_is_the_score(scores):
    spread = score_distribution(np.array(scores))
    np.testing.assert_allclose(spread @ np.arange(1, 6), scores, rtol=1e-5)
    np.testing.assert_allclose(spread.sum(axis=1), 1, rtol=1e-5)


def test_the_relatedness_regression_is_the_naive_one():
    generator = np.random.default_rng(2)
    features = generator.standard_normal((150, 6)).astype(np.float32)
    scores = np.clip(3 + features[:, 0] + 0.3 * generator.standard_normal(150), 1, 5)
    places = {"train": slice(0, 90), "dev": slice(90, 120), "test": slice(120, 150)}
    parts = {name: features[place] for name, place in places.items()}
    gold = {name: scores[place] for name, place in places.items()}
    quick = RelatednessSettings(batch_size=16, epoch_size=3, tenacity=2, most_epochs=40, learning_rate=0.01)
    predicted, best = predict_relatedness(parts, gold, settings=quick)
    numbers = np.random.RandomState(1111)
    torch.manual_seed(1111)
    model = torch.nn.Sequential(torch.nn.Linear(6, 5), torch.nn.Softmax(dim=1))
    adam = torch.optim.Adam(model.parameters(), lr=0.01)
    targets = torch.tensor(score_distribution(gold["train"]))
    classes = np.arange(1, 6)
    naive, kept, failures, epochs = -1.0, None, 0, 0
    while epochs <= 40 and failures <= 2:
        for _ in range(3):
            order = numbers.permutation(90)
            for start in range(0, 90, 16):
                rows = order[start : start + 16]
                adam.zero_grad()
                torch.nn.functional.mse_loss(model(torch.tensor(parts["train"][rows])), targets[rows]).backward()
                adam.step()
        epochs += 3
        with torch.no_grad():
            correlation = pearson(model(torch.tensor(parts["dev"])).numpy() @ classes, gold["dev"])
        if correlation > naive:
            naive, kept = correlation, copy.deepcopy(model)
        else:
            failures += 1
    assert best == pytest.approx(naive, abs=1e-4) and best > 0.8
    with torch.no_grad():
        np.testing.assert_allclose(predicted, kept(torch.tensor(parts["test"])).numpy() @ classes, atol=1e-3)


def test_nothing_of_the_global_random_state_is_used_or_changed():
    features, gold = examples(60)
    rows = np.arange(60)
    torch.manual_seed(0)
    np.random.seed(0)  # noqa: NPY002
    one = fit_softmax_regressions(features, gold, 2, [Fold(rows[:40], rows[40:])], settings=QUICK)
    after = (torch.rand(1).item(), np.random.rand())  # noqa: NPY002
    torch.manual_seed(0)
    np.random.seed(0)  # noqa: NPY002
    assert after == (torch.rand(1).item(), np.random.rand())  # noqa: NPY002
    two = fit_softmax_regressions(features, gold, 2, [Fold(rows[:40], rows[40:])], settings=QUICK)
    np.testing.assert_array_equal(one[0].weights, two[0].weights)


def test_features_that_are_no_numbers_are_refused():
    features, gold = examples(30)
    features[4, 1] = np.inf
    with pytest.raises(ModelError, match="NaN"):
        fit_softmax_regressions(features, gold, 2, [Fold(np.arange(20), np.arange(20, 30))], settings=QUICK)

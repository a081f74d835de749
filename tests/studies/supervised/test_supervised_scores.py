from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr

from hf_paraphrase.studies.supervised.scores import class_scores, criterion, graded_scores


def test_classes_are_counted_by_hand():
    # The third class never occurs, and does not count.
    scores = class_scores(np.array([0, 1, 1, 1, 0]), np.array([0, 1, 0, 1, 1]), 3)
    assert (scores["accuracy"], scores["baseline"], scores["rows"]) == (60.0, 60.0, 5) and criterion(scores) == 60.0
    # Precision and recall of the first are 1/2, of the second both 2/3.
    assert scores["macro_f1"] == pytest.approx(100 * (1 / 2 + 2 / 3) / 2)


def test_scores_are_those_of_the_formulas():
    found, right = np.array([1.0, 2.0, 3.5, 2.0]), np.array([1.0, 3.0, 5.0, 2.0])
    scores = graded_scores(found, right)
    assert scores["pearson"] == criterion(scores) == pytest.approx(100 * np.corrcoef(found, right)[0, 1])
    assert scores["spearman"] == pytest.approx(100 * spearmanr(found, right)[0])
    assert (scores["mse"], scores["baseline"]) == pytest.approx(((0 + 1 + 2.25 + 0) / 4, right.var()))
    equal = graded_scores(np.ones(3), np.array([1.0, 2.0, 3.0]))
    assert equal["pearson"] == equal["spearman"] == 0.0 and equal["mse"] == pytest.approx(5 / 3)

"""The classifier with which Sjöblom et al. (2018), section 4, detect paraphrases.

"The resulting vectors are concatenated and passed on to a multi-layer perceptron classifier with a single hidden layer
of 200 units. The classifier is trained on the development set." The paper does not say more. This is the
`MLPClassifier` of scikit-learn with rectified linear units and Adam. It stops when its accuracy on a fifth of the
development pairs, drawn for each seed, has not risen for ten epochs, and keeps the best weights. The features
have mean 0 and standard deviation 1.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from ..vectors.similarity import checked_vectors

HIDDEN = 200
"""Units of the hidden layer."""
Sides = tuple[np.ndarray, np.ndarray]


def predict_paraphrases(dev: Sides, labels: np.ndarray, test: Sides, *, seeds: Sequence[int]) -> np.ndarray:
    """Train a perceptron for each seed, which draws its own weights, held-out pairs and batches.

    Args:
        dev: The vectors (n, dim) of the first and second sentences of the development pairs.
        labels: 1 for a paraphrase, 0 for another pair (n,).
        test: The vectors (m, dim) of the first and second sentences of other pairs.
        seeds: The seeds.

    Returns:
        Whether each perceptron calls each of the other pairs a paraphrase, bool (seeds, m).
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.neural_network import MLPClassifier

    labels = np.asarray(labels).astype(np.int64)
    sides = checked_vectors(np.concatenate(dev), 2 * len(labels)).astype(np.float64)
    mean, deviation = sides.mean(axis=0), sides.std(axis=0)
    constant = deviation <= 1e-12 * max(1e-300, float(np.abs(sides).max(initial=0.0)))
    scale = np.where(constant, 1.0, deviation)
    features, tested = (np.concatenate([(side - mean) / scale for side in pairs], axis=1) for pairs in (dev, test))
    # Fewer pairs cannot be divided.
    holds_out = bool(np.bincount(labels, minlength=2).min() >= 5)
    called = []
    for seed in seeds:
        perceptron = MLPClassifier(
            (HIDDEN,),
            alpha=0.0,
            batch_size=min(64, len(labels)),
            early_stopping=holds_out,
            validation_fraction=0.2,
            n_iter_no_change=10,
            max_iter=200,
            random_state=seed,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            called.append(perceptron.fit(features, labels).predict(tested) > 0)
    return np.stack(called)

"""What SentEval's classifier is trained on and with, and what comes of it; :mod:`.softmax_regressions` trains it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

PENALTIES = (1e-5, 1e-4, 1e-3, 1e-2)
"""The weight decays that SentEval chooses among."""
SEED = 1111


@dataclass(frozen=True)
class ClassifierSettings:
    """How the regressions are trained; SentEval's recommended defaults.

    Attributes:
        epoch_size: Epochs between two looks at the held-out examples.
        tenacity: Looks without a new best that are borne; one more ends the training.
        most_epochs: No round of epochs begins after this many.
    """

    batch_size: int = 64
    epoch_size: int = 4
    tenacity: int = 5
    most_epochs: int = 200
    learning_rate: float = 1e-3


DEFAULT_SETTINGS = ClassifierSettings()


@dataclass(frozen=True)
class RelatednessSettings:
    """How the regression is trained; SentEval's values.

    Attributes:
        epoch_size: Epochs between two looks at the dev part.
        tenacity: Looks without a new best that are borne; one more ends the training.
        most_epochs: No round of epochs begins after this many.
    """

    batch_size: int = 64
    epoch_size: int = 50
    tenacity: int = 3
    most_epochs: int = 1000
    learning_rate: float = 1e-3


DEFAULT_RELATEDNESS = RelatednessSettings()


@dataclass(frozen=True, eq=False)
class Fold:
    """What to train on and what to look at.

    Attributes:
        train: Rows of the features (n,).
        dev: Rows that choose when to stop (m,).
        drawn: The length of the permutation that the generator had to draw before those of the training; 0 for none.
    """

    train: np.ndarray
    dev: np.ndarray
    penalties: tuple[float, ...] = PENALTIES
    drawn: int = 0


@dataclass(frozen=True, eq=False)
class Fitted:
    """The regressions of one fold.

    Attributes:
        accuracies: The best accuracy on the held-out examples, for each penalty.
        weights: The weights at that look (penalties, classes, dim + 1), the last column the biases.
    """

    accuracies: tuple[float, ...]
    weights: np.ndarray

    def predict(self, features: np.ndarray, penalty: int = 0) -> np.ndarray:
        """Returns the class of each row of features (n, dim) after the regression with that place among penalties."""
        weights = self.weights[penalty]
        return np.argmax(np.asarray(features, dtype=np.float32) @ weights[:, :-1].T + weights[:, -1], axis=1)

"""SentEval's regression of a graded relatedness, after Tai, Socher and Manning 2015, section 4.2.

A score y between two whole numbers is a distribution over the two, p(⌊y⌋) = ⌊y⌋ − y + 1 and p(⌊y⌋ + 1) = y − ⌊y⌋, over
the classes 1 to 5. A softmax regression predicts it, and its expected class is the predicted score. SentEval
(`tools/relatedness.py`) fits the probabilities by their mean squared error with Adam (learning rate 0.001, no penalty,
batches of 64), looks at Pearson's r on the dev part every 50 epochs, ends once more than three looks brought nothing
new or after 1,000 epochs, and keeps the weights of the best look.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ...errors import ModelError
from ..correlation import pearson
from .classifier import DEFAULT_RELATEDNESS, SEED, RelatednessSettings
from .softmax_regressions import initial_weights

CLASSES = 5


def score_distribution(scores: np.ndarray) -> np.ndarray:
    """Spreads each score over the two classes next to it.

    Args:
        scores: From 0 to 5 (n,). Below 1 the class 0 is missing, as in SentEval, and the row sums to less than 1.

    Returns:
        float32 (n, 5), for the classes 1 to 5.
    """
    lower = np.floor(scores).astype(np.int64)
    rows = np.arange(len(scores))
    spread = np.zeros((len(scores), CLASSES + 2))
    spread[rows, lower] = lower - scores + 1
    spread[rows, lower + 1] = scores - lower
    return spread[:, 1 : CLASSES + 1].astype(np.float32)


def predict_relatedness(
    parts: dict[str, np.ndarray],
    scores: dict[str, np.ndarray],
    *,
    settings: RelatednessSettings = DEFAULT_RELATEDNESS,
    seed: int = SEED,
) -> tuple[np.ndarray, float]:
    """Trains the regression and applies it to the test part.

    Args:
        parts: The features of `train`, `dev` and `test`, float32 (n, dim) each.
        scores: The human scores of `train` and `dev` (n,).
        settings: How to train.
        seed: Of weights and permutations.

    Returns:
        The predicted scores of the test part (m,), from 1 to 5, and the best Pearson's r on the dev part.
    """
    if not all(np.isfinite(features).all() for features in parts.values()):
        raise ModelError("the encoder gave vectors with NaN or infinity")
    inputs = {name: _with_ones(features) for name, features in parts.items()}
    targets = torch.from_numpy(score_distribution(scores["train"]))
    permutations = np.random.RandomState(seed)
    weights = initial_weights(inputs["train"].shape[1], CLASSES, seed).requires_grad_()
    optimiser = torch.optim.Adam([weights], lr=settings.learning_rate, fused=True)
    kept, best, patience, epochs, stopped = weights.detach().clone(), -1.0, 0, 0, False
    while not stopped and epochs <= settings.most_epochs:
        for _ in range(settings.epoch_size):
            order = torch.from_numpy(permutations.permutation(len(targets)))
            batches = zip(
                inputs["train"][order].split(settings.batch_size),
                targets[order].split(settings.batch_size),
                strict=True,
            )
            for batch, gold in batches:
                weights.grad = _gradient(weights.detach(), batch, gold)
                optimiser.step()
        epochs += settings.epoch_size
        correlation = pearson(_expected(weights.detach(), inputs["dev"]), scores["dev"])
        if correlation > best:
            best, kept = correlation, weights.detach().clone()
        else:
            stopped = patience >= settings.tenacity
            patience += 1
    return _expected(kept, inputs["test"]), best


def _with_ones(features: np.ndarray) -> Tensor:
    columns = [np.asarray(features, dtype=np.float32), np.ones((len(features), 1), np.float32)]
    return torch.from_numpy(np.concatenate(columns, axis=1))


def _gradient(weights: Tensor, batch: Tensor, gold: Tensor) -> Tensor:
    """Computes the gradient (5, dim + 1) of the mean squared error of the probabilities."""
    probabilities = torch.softmax(batch @ weights.T, dim=1)
    by_probability = (probabilities - gold) * (2 / gold.numel())
    inner = (by_probability * probabilities).sum(dim=1, keepdim=True)
    return (probabilities * (by_probability - inner)).T @ batch


def _expected(weights: Tensor, inputs: Tensor) -> np.ndarray:
    """Computes the expected class, from 1 to 5, of each row (n,)."""
    classes = torch.arange(1, CLASSES + 1, dtype=torch.float64)
    return (torch.softmax(inputs @ weights.T, dim=1).double() @ classes).numpy()

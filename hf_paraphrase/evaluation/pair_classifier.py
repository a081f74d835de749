"""The classifier with which Sjöblom, Creutz and Aulamo 2018 detect paraphrases, section 4.

"The resulting vectors are concatenated and passed on to a multi-layer perceptron classifier with a single hidden layer
of 200 units. The classifier is trained on the development set." Of the rest the paper is silent. Here: rectified
linear units, cross-entropy, Xavier initialisation, Adam, and the weights of the epoch that is best on a fifth of the
development pairs, which is drawn for each seed. The features have mean 0 and standard deviation 1.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits as cross_entropy

from ..vectors.checks import checked_vectors

HIDDEN = 200
"""Units of the hidden layer."""
HELD_OUT = 0.2
"""The share of the development pairs by which the epoch is chosen."""
PATIENCE = 10
MOST_EPOCHS = 200
BATCH = 64
LEARNING_RATE = 1e-3
Sides = tuple[np.ndarray, np.ndarray]


def predict_paraphrases(dev: Sides, labels: np.ndarray, test: Sides, *, seeds: Sequence[int]) -> np.ndarray:
    """Trains a perceptron for each seed, which draws its own weights, held-out pairs and batches.

    `dev` and `test` are the vectors (n, dim) and (m, dim) of the two sides of the development pairs, whose labels (n,)
    are 1 for a paraphrase, and of other pairs.

    Returns:
        Which of the other pairs each perceptron takes for paraphrases, bool (seeds, m).
    """
    sides = checked_vectors(np.concatenate(dev), 2 * len(labels)).astype(np.float64)
    mean, spread = sides.mean(axis=0), sides.std(axis=0)
    scale = np.where(spread > 1e-12 * max(1e-300, float(np.abs(sides).max(initial=0.0))), spread, 1.0)
    features, tested = (_features(*pairs, mean, scale) for pairs in (dev, test))
    gold = torch.from_numpy(np.asarray(labels, dtype=np.float32))
    perceptrons = [_train(features, gold, seed) for seed in seeds]
    with torch.no_grad():
        return np.stack([perceptron(tested).squeeze(1).numpy() > 0 for perceptron in perceptrons])


def _train(features: Tensor, gold: Tensor, seed: int) -> nn.Module:
    """Trains the perceptron of one seed; returns it as it was at its best epoch."""
    generator = torch.Generator().manual_seed(seed)
    rows, held_out = (torch.from_numpy(part) for part in _hold_out(gold.numpy(), np.random.default_rng(seed)))
    model = nn.Sequential(_layer(features.shape[1], HIDDEN, generator), nn.ReLU(), _layer(HIDDEN, 1, generator))
    inputs, targets = features[rows], gold[rows]
    optimiser = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE)
    best, lowest, chosen = model, float("inf"), 0
    for epoch in range(1, MOST_EPOCHS + 1):
        for batch in torch.randperm(len(inputs), generator=generator).split(BATCH):
            optimiser.zero_grad()
            cross_entropy(model(inputs[batch]).squeeze(1), targets[batch]).backward()
            optimiser.step()
        with torch.no_grad():
            loss = float(cross_entropy(model(features[held_out]).squeeze(1), gold[held_out]))
        if loss < lowest:
            best, lowest, chosen = copy.deepcopy(model), loss, epoch
        elif epoch - chosen >= PATIENCE:
            break
    return best


def _layer(inputs: int, outputs: int, generator: torch.Generator) -> nn.Linear:
    """Makes a layer with weights of a generator of its own (Glorot and Bengio 2010); biases are 0."""
    layer = nn.utils.skip_init(nn.Linear, inputs, outputs)
    with torch.no_grad():
        drawn = torch.rand(inputs, outputs, generator=generator) * 2 - 1
        layer.weight.copy_(drawn.T * (6 / (inputs + outputs)) ** 0.5)
        layer.bias.zero_()
    return layer


def _features(first: np.ndarray, second: np.ndarray, mean: np.ndarray, scale: np.ndarray) -> Tensor:
    """Concatenates the two vectors of each pair, standardised: (n, 2·dim)."""
    pairs = np.concatenate([(first - mean) / scale, (second - mean) / scale], axis=1)
    return torch.from_numpy(pairs.astype(np.float32))


def _hold_out(labels: np.ndarray, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draws the rows to train on and those to hold out, an equal share of both classes; at least one of each."""
    train, held = [], []
    for label in (0, 1):
        rows = generator.permutation(np.flatnonzero(labels == label))
        count = max(1, round(HELD_OUT * len(rows))) if len(rows) > 1 else 0
        held.append(rows[:count])
        train.append(rows[count:])
    return np.concatenate(train), np.concatenate(held)

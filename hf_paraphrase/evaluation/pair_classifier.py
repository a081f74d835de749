"""The classifier with which Sjöblom, Creutz and Aulamo 2018 detect paraphrases, section 4.

"The resulting vectors are concatenated and passed on to a multi-layer perceptron classifier with a single hidden layer
of 200 units. The classifier is trained on the development set." Of the rest the paper is silent. Here: rectified
linear units, a sigmoid output with cross-entropy, Xavier initialisation, Adam with a learning rate of 0.001 and
batches of 64; a fifth of the development pairs, drawn again for each seed, is held out, and the weights of the epoch
with the lowest cross-entropy on it are kept, training ending after ten epochs without a new lowest one. The features
are brought to mean 0 and standard deviation 1, so that the scale of an encoder's vectors does not matter. Several
seeds show how much of a difference is chance.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits as cross_entropy

from .correlation import checked_vectors

HIDDEN = 200
"""Units of the hidden layer."""
HELD_OUT = 0.2
"""The share of the development pairs by which the epoch is chosen."""
PATIENCE = 10
MOST_EPOCHS = 200
BATCH = 64
LEARNING_RATE = 1e-3


@dataclass(frozen=True)
class PairClassifiers:
    """Perceptrons of several seeds, and the mean and scale (dim,) to which sentence vectors are brought for them."""

    mean: np.ndarray
    scale: np.ndarray
    perceptrons: tuple[nn.Module, ...]

    def predict(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Returns which pairs of vectors (n, dim) are paraphrases, bool (seeds, n)."""
        features = _features(first, second, self.mean, self.scale)
        with torch.no_grad():
            return np.stack([perceptron(features).squeeze(1).numpy() > 0 for perceptron in self.perceptrons])


def train_pair_classifiers(
    first: np.ndarray, second: np.ndarray, labels: np.ndarray, *, seeds: Sequence[int]
) -> PairClassifiers:
    """Trains a perceptron for each seed, which draws its own weights, held-out pairs and batches.

    The development pairs have vectors (n, dim) and labels (n,), 1 for a paraphrase.
    """
    sides = checked_vectors(np.concatenate([first, second]), 2 * len(labels)).astype(np.float64)
    mean, spread = sides.mean(axis=0), sides.std(axis=0)
    scale = np.where(spread > 1e-12 * max(1e-300, float(np.abs(sides).max(initial=0.0))), spread, 1.0)
    features = _features(first, second, mean, scale)
    gold = torch.from_numpy(np.asarray(labels, dtype=np.float32))
    return PairClassifiers(mean, scale, tuple(_train(features, gold, seed) for seed in seeds))


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
    """Draws the rows to train on and those to hold out, a like share of both classes; at least one of each."""
    train, held = [], []
    for label in (0, 1):
        rows = generator.permutation(np.flatnonzero(labels == label))
        count = max(1, round(HELD_OUT * len(rows))) if len(rows) > 1 else 0
        held.append(rows[:count])
        train.append(rows[count:])
    return np.concatenate(train), np.concatenate(held)

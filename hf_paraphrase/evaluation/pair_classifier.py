"""The classifier with which Sjöblom, Creutz and Aulamo 2018 detect paraphrases, section 4.

"The resulting vectors are concatenated and passed on to a multi-layer perceptron classifier with a single hidden layer
of 200 units. The classifier is trained on the development set." Of the rest the paper is silent. Here: rectified
linear units, a sigmoid output with cross-entropy, Xavier initialisation, Adam with a learning rate of 0.001 and
batches of 64; a fifth of the development pairs, drawn again for each seed, is held out, and the weights of the epoch
with the lowest cross-entropy on it are kept, training ending after ten epochs without a new lowest one. The features
are brought to mean 0 and standard deviation 1, so that the scale of an encoder's vectors does not matter. Several
seeds tell how much of a difference is chance.

The concatenation knows which sentence comes first, so a pair and its mirror image may be judged differently; training
on both orders makes that rarer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits as cross_entropy

from ..errors import ModelError

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
    """Perceptrons of several seeds, trained on the same pairs.

    Attributes:
        mean: What is subtracted from each sentence vector (dim,).
        scale: By what it is divided then (dim,).
        weights: Hidden weights (seeds, 2·dim, 200), hidden biases (seeds, 1, 200), output weights (seeds, 200, 1) and
            output biases (seeds, 1, 1).
        epochs: The epoch (from 1) whose weights each seed kept.
    """

    mean: np.ndarray
    scale: np.ndarray
    weights: tuple[Tensor, ...]
    epochs: tuple[int, ...]

    def predict(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Returns which pairs are paraphrases.

        Args:
            first: The vectors of the first sentences (n, dim).
            second: Those of the second ones (n, dim).

        Returns:
            bool (seeds, n).
        """
        features = torch.from_numpy(_features(first, second, self.mean, self.scale))
        with torch.no_grad():
            parts = [_logits(self.weights, part.expand(len(self.epochs), -1, -1)) for part in features.split(1024)]
        return torch.cat(parts, dim=1).numpy() > 0


def train_pair_classifiers(
    first: np.ndarray,
    second: np.ndarray,
    labels: np.ndarray,
    *,
    seeds: Sequence[int],
    both_orders: bool = False,
) -> PairClassifiers:
    """Trains a perceptron for each seed, all side by side.

    Args:
        first: The vectors of the first sentences of the development pairs (n, dim).
        second: Those of the second ones (n, dim).
        labels: 1 for a paraphrase, 0 for another pair (n,).
        seeds: Each draws its own weights, held-out pairs and batches.
        both_orders: Train on each pair and its mirror image.

    Returns:
        The perceptrons; the result of a seed does not depend on which others there are, up to rounding.
    """
    sides = np.concatenate([first, second]).astype(np.float64)
    if not np.isfinite(sides).all():
        raise ModelError("the encoder gave vectors with NaN or infinity")
    mean, spread = sides.mean(axis=0), sides.std(axis=0)
    scale = np.where(spread > 1e-12 * max(1e-300, float(np.abs(sides).max(initial=0.0))), spread, 1.0)
    features = torch.from_numpy(_features(first, second, mean, scale))
    mirrored = torch.from_numpy(_features(second, first, mean, scale))
    gold = torch.from_numpy(np.asarray(labels, dtype=np.float32))
    generators = [torch.Generator().manual_seed(seed) for seed in seeds]
    splits = [_hold_out(np.asarray(labels), np.random.default_rng(seed)) for seed in seeds]
    held_out = torch.from_numpy(np.stack([held for _, held in splits]))
    train = torch.from_numpy(np.stack([rows for rows, _ in splits]))
    held_features, held_gold = features[held_out], gold[held_out]
    weights = tuple(
        torch.stack(parts).requires_grad_()
        for parts in zip(*(_initial(features.shape[1], generator) for generator in generators), strict=True)
    )
    optimiser = torch.optim.Adam(weights, lr=LEARNING_RATE)
    best = [weight.detach().clone() for weight in weights]
    lowest = torch.full((len(seeds),), torch.inf)
    chosen = torch.zeros(len(seeds), dtype=torch.long)
    # Row n + i stands for the mirror image of row i.
    pool = torch.cat([train, train + len(features)], dim=1) if both_orders else train
    inputs = torch.cat([features, mirrored]) if both_orders else features
    targets = torch.cat([gold, gold]) if both_orders else gold
    for epoch in range(1, MOST_EPOCHS + 1):
        order = torch.stack([torch.randperm(pool.shape[1], generator=generator) for generator in generators])
        for rows in pool.gather(1, order).split(BATCH, dim=1):
            optimiser.zero_grad()
            losses = cross_entropy(_logits(weights, inputs[rows]), targets[rows], reduction="none")
            # The sum over seeds keeps their gradients separate.
            losses.mean(dim=1).sum().backward()
            optimiser.step()
        with torch.no_grad():
            loss = cross_entropy(_logits(weights, held_features), held_gold, reduction="none").mean(dim=1)
        # A seed that has stopped stays as it is, whatever the others' company would still do for it.
        better = (loss < lowest) & (epoch - chosen <= PATIENCE)
        lowest, chosen = torch.where(better, loss, lowest), torch.where(better, epoch, chosen)
        for kept, weight in zip(best, weights, strict=True):
            kept[better] = weight.detach()[better]
        if bool((epoch - chosen >= PATIENCE).all()):
            break
    return PairClassifiers(mean, scale, tuple(best), tuple(chosen.tolist()))


def _features(first: np.ndarray, second: np.ndarray, mean: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Concatenates the two vectors of each pair, standardised: (n, 2·dim)."""
    return np.concatenate([(first - mean) / scale, (second - mean) / scale], axis=1).astype(np.float32)


def _initial(size: int, generator: torch.Generator) -> tuple[Tensor, ...]:
    """Draws the weights of one perceptron (Glorot and Bengio 2010); biases are 0."""

    def xavier(rows: int, columns: int) -> Tensor:
        return (torch.rand(rows, columns, generator=generator) * 2 - 1) * (6 / (rows + columns)) ** 0.5

    return xavier(size, HIDDEN), torch.zeros(1, HIDDEN), xavier(HIDDEN, 1), torch.zeros(1, 1)


def _logits(weights: Sequence[Tensor], inputs: Tensor) -> Tensor:
    """Computes the outputs (seeds, pairs) for inputs (seeds, pairs, 2·dim)."""
    hidden, hidden_bias, output, output_bias = weights
    return (torch.relu(inputs @ hidden + hidden_bias) @ output + output_bias).squeeze(2)


def _hold_out(labels: np.ndarray, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draws the rows to train on and those to hold out, a like share of both classes; at least one of each."""
    train, held = [], []
    for label in (0, 1):
        rows = generator.permutation(np.flatnonzero(labels == label))
        count = max(1, round(HELD_OUT * len(rows))) if len(rows) > 1 else 0
        held.append(rows[:count])
        train.append(rows[count:])
    return np.concatenate(train), np.concatenate(held)

"""Many softmax regressions at once: SentEval's classifier without a hidden layer, all folds and penalties together.

A single regression is a few small matrix products, and the time goes into calling them: one of SentEval's sets takes
410 regressions. All that train on equally many examples run in lockstep here: they draw the same permutations anyway,
for SentEval sets the seed again for each. The regressions of one fold that differ only in the penalty share their
batches, and a step is two batched matrix products for all.

What a single one does is what SentEval does (Conneau and Kiela 2018; `tools/classifier.py`): weights drawn uniformly
within ±1/√dim, mean cross-entropy, Adam with a learning rate of 0.001 and the penalty as weight decay (added to the
gradient, on the bias too), batches of 64, a look at the held-out examples every four epochs, an end once more than
five looks brought nothing new or after 200 epochs, and the weights of the best look kept. SentEval asks for the loss
to be summed, which PyTorch has ignored since 0.4.1; here it is the mean, as in everything measured since.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby

import numpy as np
import torch
from torch import Tensor

from ...errors import ModelError
from .classifier import DEFAULT_SETTINGS, SEED, ClassifierSettings, Fitted, Fold

_CELLS_OF_A_BATCH = 1 << 20
"""Numbers in the batch of a group at most: it is read twice, and should still be in the cache the second time."""


def fit_softmax_regressions(
    features: np.ndarray,
    labels: np.ndarray,
    classes: int,
    folds: Sequence[Fold],
    *,
    settings: ClassifierSettings = DEFAULT_SETTINGS,
    seed: int = SEED,
    progress: Callable[[int], object] | None = None,
) -> list[Fitted]:
    """Trains a softmax regression for every fold and penalty.

    Args:
        features: float32 (n, dim).
        labels: The class of each row (n,), from 0 to classes − 1.
        classes: How many classes there are.
        folds: The rows of each fold.
        settings: How to train.
        seed: Of the weights and the permutations of every single regression.
        progress: Called with the number of regressions that are finished.

    Returns:
        The regressions, a fold after the other; the company of others changes nothing but rounding.
    """
    if not np.isfinite(features).all():
        raise ModelError("the encoder gave vectors with NaN or infinity")
    columns = [np.asarray(features, dtype=np.float32), np.ones((len(features), 1), np.float32)]
    inputs = torch.from_numpy(np.concatenate(columns, axis=1))
    gold = torch.from_numpy(np.asarray(labels, dtype=np.int64))

    def key(place: int) -> tuple[int, int, int]:
        return len(folds[place].train), folds[place].drawn, len(folds[place].penalties)

    fitted: dict[int, Fitted] = {}
    most = max(1, _CELLS_OF_A_BATCH // (settings.batch_size * inputs.shape[1]))
    for _, places in groupby(sorted(range(len(folds)), key=key), key):
        for group in _parts(list(places), most):
            lockstep = _Lockstep(inputs, gold, classes, [folds[place] for place in group], settings, seed)
            fitted |= zip(group, lockstep.run(progress or (lambda count: None)), strict=True)
    return [fitted[place] for place in range(len(folds))]


def _parts(places: list[int], most: int) -> Iterable[list[int]]:
    """Parts a list into as few parts as possible, of like size."""
    count = -(-len(places) // most)
    return ([places[i] for i in part] for part in np.array_split(np.arange(len(places)), count))


class _Lockstep:
    """Folds with equally many training rows and penalties, trained side by side."""

    # Axes: f folds, p penalties, c classes, d = dim + 1 features, b rows of a batch. The features come last, and the
    # rows of a batch last in what is computed of them: the same products took three times as long the other way round.

    def __init__(
        self,
        inputs: Tensor,
        gold: Tensor,
        classes: int,
        folds: Sequence[Fold],
        settings: ClassifierSettings,
        seed: int,
    ) -> None:
        self.inputs, self.gold, self.settings = inputs, gold, settings
        self.one_hot = torch.nn.functional.one_hot(gold, classes).float().T.contiguous()  # (c, n)
        self.dev = [(inputs[torch.from_numpy(fold.dev)], gold[torch.from_numpy(fold.dev)]) for fold in folds]
        self.train = torch.from_numpy(np.stack([fold.train for fold in folds]))
        self.permutations = np.random.RandomState(seed)
        if folds[0].drawn:
            self.permutations.permutation(folds[0].drawn)
        decay = torch.tensor([fold.penalties for fold in folds], dtype=torch.float32)
        self.decay = decay[:, :, None, None]
        initial = initial_weights(inputs.shape[1], classes, seed)
        self.weights = initial.repeat(*decay.shape, 1, 1)  # (f, p, c, d)
        self.first = torch.zeros_like(self.weights)
        self.second = torch.zeros_like(self.weights)
        self.steps = 0
        shape = decay.shape
        self.best = np.full(shape, -1.0)
        self.kept = self.weights.clone()
        self.patience = np.zeros(shape, dtype=np.int64)
        self.stopped = np.zeros(shape, dtype=bool)
        # The folds and penalties that are still in the tensors.
        self.live_folds, self.live_penalties = np.arange(shape[0]), np.arange(shape[1])

    def run(self, progress: Callable[[int], object]) -> list[Fitted]:
        """Trains until all have stopped."""
        epochs = 0
        while not self.stopped.all() and epochs <= self.settings.most_epochs:
            for _ in range(self.settings.epoch_size):
                self._epoch()
            epochs += self.settings.epoch_size
            before = self.stopped.sum()
            self._look()
            progress(int(self.stopped.sum() - before))
            self._leave_out_the_stopped()
        progress(int((~self.stopped).sum()))
        return [
            Fitted(tuple(accuracies), weights)
            for accuracies, weights in zip(self.best.tolist(), self.kept.numpy(), strict=True)
        ]

    def _epoch(self) -> None:
        order = torch.from_numpy(self.permutations.permutation(self.train.shape[1]))
        shuffled = self.train[:, order]
        for rows in shuffled.split(self.settings.batch_size, dim=1):
            self._step(rows)

    def _step(self, rows: Tensor) -> None:
        """Takes one step of Adam on the batch of each fold, rows (f, b)."""
        folds, size = rows.shape
        _, penalties, classes, width = self.weights.shape
        flat = rows.reshape(-1)
        batch = self.inputs.index_select(0, flat).view(folds, size, width)
        scores = torch.bmm(self.weights.view(folds, -1, width), batch.transpose(1, 2))
        errors = torch.softmax(scores.view(folds, penalties, classes, size), dim=2)
        errors -= self.one_hot.index_select(1, flat).view(classes, folds, size).transpose(0, 1)[:, None]
        gradient = torch.baddbmm(
            (self.weights * self.decay).view(folds, -1, width), errors.view(folds, -1, size), batch, alpha=1 / size
        ).view_as(self.weights)
        self.steps += 1
        self.first.lerp_(gradient, 1 - 0.9)
        self.second.mul_(0.999).addcmul_(gradient, gradient, value=1 - 0.999)
        spread = self.second.sqrt().div_((1 - 0.999**self.steps) ** 0.5).add_(1e-8)
        self.weights.addcdiv_(self.first, spread, value=-self.settings.learning_rate / (1 - 0.9**self.steps))

    def _look(self) -> None:
        """Counts what is right on the held-out rows, and keeps the weights that are better than before."""
        for place, fold in enumerate(self.live_folds):
            inputs, gold = self.dev[fold]
            weights = self.weights[place]
            scores = (weights.flatten(0, 1) @ inputs.T).view(*weights.shape[:2], len(inputs))
            right = (scores.argmax(dim=1) == gold).sum(dim=1).tolist()
            for column, penalty in enumerate(self.live_penalties):
                if self.stopped[fold, penalty]:
                    continue
                accuracy = right[column] / len(inputs)
                if accuracy > self.best[fold, penalty]:
                    self.best[fold, penalty] = accuracy
                    self.kept[fold, penalty] = weights[column]
                else:
                    self.stopped[fold, penalty] = self.patience[fold, penalty] >= self.settings.tenacity
                    self.patience[fold, penalty] += 1

    def _leave_out_the_stopped(self) -> None:
        """Takes folds all of whose regressions have stopped, and such penalties, out of the tensors."""
        live = ~self.stopped[np.ix_(self.live_folds, self.live_penalties)]
        folds, penalties = live.any(axis=1), live.any(axis=0)
        if (folds.all() and penalties.all()) or not live.any():
            return
        rows, columns = torch.from_numpy(np.flatnonzero(folds)), torch.from_numpy(np.flatnonzero(penalties))
        for name in ("weights", "first", "second", "decay"):
            setattr(self, name, getattr(self, name).index_select(0, rows).index_select(1, columns))
        self.train = self.train.index_select(0, rows)
        self.live_folds, self.live_penalties = self.live_folds[folds], self.live_penalties[penalties]


def initial_weights(size: int, classes: int, seed: int) -> Tensor:
    """Draws weights (classes, size) as `torch.nn.Linear` does after `torch.manual_seed`; the last column is biases."""
    generator = torch.Generator().manual_seed(seed)
    bound = (size - 1) ** -0.5
    weight = torch.empty(classes, size - 1).uniform_(-bound, bound, generator=generator)
    bias = torch.empty(classes).uniform_(-bound, bound, generator=generator)
    return torch.cat([weight, bias[:, None]], dim=1)

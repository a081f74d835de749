"""Trains the classifier of parallel sentences on the Trainer of transformers, with negatives drawn in every epoch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import expit
from torch import Tensor
from transformers import PreTrainedModel

from ...classification.parallel_classifier import encode_sentences, score_pairs
from ...mining.curves import Curve
from ...training.batches import EpochBatches, Item
from ...training.epoch_trainer import EpochTrainer, EpochTrainingArguments
from ...training.sparse_gradients import SparseGradientTrainer
from .parallel_examples import NOTHING, TRAIN, VALIDATION, NegativeDraw, ParallelExamples

DEV_SCORE = "best_f1"
"""The key of the criterion by which the epoch is chosen."""
# Beside the epochs' own draws, which are numbered from 0.
_DEV_DRAW = 1 << 32


class ParallelTrainer(SparseGradientTrainer, EpochTrainer):
    """Trains a classifier of parallel sentences by cross-entropy (paper 002, sections 2.1 and 3.2).

    An epoch sees every parallel pair once, with negatives that are drawn again. A batch is
    `per_device_train_batch_size` labelled pairs on each process, negatives included. With a validation part the
    weights of the epoch with the best F1 over all thresholds are kept, else those of the last. Word vectors have
    sparse gradients unless the arguments name an optimizer.
    """

    criterion = DEV_SCORE

    def __init__(
        self,
        model: PreTrainedModel,
        args: EpochTrainingArguments,
        examples: ParallelExamples,
        draw: NegativeDraw,
        report: Callable[[str], None] | None = None,
    ) -> None:
        self.examples = examples
        self.draw = draw
        self.dev: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None
        if VALIDATION in examples.pairs:
            self.dev = draw.labelled(examples.pairs[VALIDATION], [args.seed, _DEV_DRAW])
        pairs_in_batch = max(1, args.per_device_train_batch_size // (1 + draw.negatives))
        batches = EpochBatches(len(examples.pairs[TRAIN]), pairs_in_batch, args.seed, args.world_size)
        dev_size = None if self.dev is None else len(self.dev[1])
        self.sparse_gradients = model.sparse_gradients = not args.names_optimizer
        super().__init__(model, args, batches, self._collate, dev_size=dev_size, report=report)

    def _collate(self, items: list[Item]) -> dict[str, Tensor]:
        """Makes a batch of parallel pairs and of their negatives, with every different sentence once."""
        pairs = self.examples.pairs[TRAIN][np.array([number for _, number in items], np.int64)]
        drawn = self.draw(pairs, [self.args.seed, *items[0]])
        rows, places = np.nonzero(drawn != NOTHING)
        sources, source_rows = np.unique(np.concatenate([pairs[:, 0], pairs[rows, 0]]), return_inverse=True)
        targets, target_rows = np.unique(np.concatenate([pairs[:, 1], drawn[rows, places]]), return_inverse=True)
        labels = np.repeat(np.array([1, 0]), [len(pairs), len(rows)])
        batch = {"source_rows": source_rows, "target_rows": target_rows, "labels": labels}
        pad = self.model.config.pad_token_id or 0
        for name, side, numbers in (
            ("source", self.examples.source, sources),
            ("target", self.examples.target, targets),
        ):
            ids, mask = side.ids.padded(numbers, pad)
            batch |= {f"{name}_input_ids": ids, f"{name}_attention_mask": mask.astype(np.int64)}
        return {name: torch.from_numpy(values) for name, values in batch.items()}

    def evaluate(self, *args: Any, **kwargs: Any) -> dict[str, float]:
        """Measures the classifier on the dev part and reports it."""
        assert self.dev is not None
        scores = measure(self.accelerator.unwrap_model(self.model), self.examples, *self.dev)
        return self.report_scores(
            {f"eval_{name}": value for name, value in scores.items()},
            f"epoch {self.state.epoch or 0:g}: dev loss {scores['loss']:.4f}, best F1 {scores['best_f1']:.2f} from a "
            f"probability of {scores['threshold']:.3f} on",
        )


def measure(
    model: PreTrainedModel, examples: ParallelExamples, pairs: NDArray[np.int64], labels: NDArray[np.int64]
) -> dict[str, float]:
    """Scores labelled pairs: `loss`, the mean cross-entropy in nats, and `best_f1` (%) with its `threshold`."""
    vectors = []
    for place, (side, encode) in enumerate(
        ((examples.source, model.encode_source), (examples.target, model.encode_target))
    ):
        numbers, rows = np.unique(pairs[:, place], return_inverse=True)
        vectors.append(encode_sentences(model, encode, side.ids.take(numbers))[rows])
    logits = score_pairs(model, *vectors).astype(np.float64)
    losses = np.logaddexp(0.0, np.where(labels == 1, -logits, logits))
    curve = Curve.of(logits, labels == 1, int(labels.sum()))
    best = int(curve.f1.argmax())
    return {
        "loss": float(losses.mean()),
        "best_f1": 100.0 * float(curve.f1[best]),
        "threshold": float(expit(curve.thresholds[best])),
    }

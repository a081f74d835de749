"""Batches of a classifier of parallel sentences, with negatives that are drawn again in every epoch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import expit
from torch import Tensor
from transformers import PreTrainedModel

from ...classification.parallel_classifier import encode_sentences, score_pairs
from ...classification.trainer import Examples
from ...mining.scores import Curve
from ...training.batches import Item
from .parallel_examples import NOTHING, TRAIN, VALIDATION, NegativeDraw, ParallelExamples

# The epochs' own draws are numbered from 0.
_DEV_DRAW = 1 << 32


class ParallelBatches(Examples):
    """Parallel pairs and their negatives (Grégoire & Langlais 2017, sections 2.1 and 3.2).

    An epoch has every parallel pair once. The weights of the last epoch are kept, or with a validation part of the
    epoch with the best F1 over all thresholds.

    Attributes:
        dev: The sentence numbers of the labelled dev pairs and their labels; None without a validation part.
    """

    criterion = "best_f1"

    def __init__(self, examples: ParallelExamples, draw: NegativeDraw, seed: int) -> None:
        self.examples, self.draw = examples, draw
        self.dev: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None
        if VALIDATION in examples.pairs:
            self.dev = draw.labelled(examples.pairs[VALIDATION], [seed, _DEV_DRAW])
            self.dev_size = len(self.dev[1])

    def __len__(self) -> int:
        return len(self.examples.pairs[TRAIN])

    def pairs_per_batch(self, batch_size: int) -> int:
        """Return the number of parallel pairs in a batch of `batch_size` labelled pairs, negatives included."""
        return max(1, batch_size // (1 + self.draw.negatives))

    def batch(self, items: Sequence[Item], model: PreTrainedModel, seed: int) -> dict[str, Tensor]:
        """Make a batch of parallel pairs and their negatives, with every different sentence once."""
        pairs = self.examples.pairs[TRAIN][np.array([index for _, index in items], np.int64)]
        drawn = self.draw(pairs, [seed, *items[0]])
        rows, columns = np.nonzero(drawn != NOTHING)
        sources, source_rows = np.unique(np.concatenate([pairs[:, 0], pairs[rows, 0]]), return_inverse=True)
        targets, target_rows = np.unique(np.concatenate([pairs[:, 1], drawn[rows, columns]]), return_inverse=True)
        labels = np.repeat(np.array([1, 0]), [len(pairs), len(rows)])
        batch = {"source_rows": source_rows, "target_rows": target_rows, "labels": labels}
        for name, side, sentences in (
            ("source", self.examples.source, sources),
            ("target", self.examples.target, targets),
        ):
            ids, mask = side.ids.padded(sentences, model.config.pad_token_id or 0)
            batch |= {f"{name}_input_ids": ids, f"{name}_attention_mask": mask.astype(np.int64)}
        return {name: torch.from_numpy(values) for name, values in batch.items()}

    def dev_scores(self, model: PreTrainedModel, seed: int) -> tuple[dict[str, float], str]:
        """Score the labelled dev pairs."""
        assert self.dev is not None
        scores = measure(model, self.examples, *self.dev)
        line = f"dev loss {scores['loss']:.4f}, best F1 {scores['best_f1']:.2f} from a probability of "
        return scores, f"{line}{scores['threshold']:.3f} on"


def measure(
    model: PreTrainedModel, examples: ParallelExamples, pairs: NDArray[np.int64], labels: NDArray[np.int64]
) -> dict[str, float]:
    """Score labelled pairs: `loss`, the mean cross-entropy in nats, and `best_f1` (%) with its `threshold`."""
    vectors = []
    for side_index, (side, encode) in enumerate(
        ((examples.source, model.encode_source), (examples.target, model.encode_target))
    ):
        sentences, rows = np.unique(pairs[:, side_index], return_inverse=True)
        vectors.append(encode_sentences(model, encode, side.ids.take(sentences))[rows])
    logits = score_pairs(model, *vectors).astype(np.float64)
    losses = np.logaddexp(0.0, np.where(labels == 1, -logits, logits))
    curve = Curve.of(logits, labels == 1, int(labels.sum()))
    best = int(curve.f1.argmax())
    return {
        "loss": float(losses.mean()),
        "best_f1": 100.0 * float(curve.f1[best]),
        "threshold": float(expit(curve.thresholds[best])),
    }

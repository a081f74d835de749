"""Trains the reference classifier on the Trainer of transformers, with negatives chosen again in every epoch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from transformers import PreTrainedModel, PreTrainedTokenizerFast

from ..tokenization.ragged_ids import TokenIds
from ..training.batches import EpochBatches, Item
from ..training.epoch_trainer import EpochTrainer, EpochTrainingArguments
from .reference_scorer import reference_probabilities, token_ids
from .references import Reference

# Beside the epochs' own draws, which are numbered from 0.
_DEV_DRAW = 1 << 32


@dataclass
class ReferenceExamples:
    """Token ids of references and of their n-best lists.

    Sentence i is reference i; the translations follow, list by list.

    Attributes:
        lists: The number of the sentence at which each reference's list begins, and the end (references + 1,), int64.
    """

    ids: TokenIds
    lists: NDArray[np.int64]

    @classmethod
    def encode(cls, references: Sequence[Reference], tokenizer: PreTrainedTokenizerFast) -> ReferenceExamples:
        """Tokenises references and translations."""
        texts = [reference.text for reference in references]
        texts += [text for reference in references for text in reference.translations]
        sizes = [len(reference.translations) for reference in references]
        return cls(token_ids(tokenizer, texts), len(sizes) + np.cumsum([0, *sizes], dtype=np.int64))

    def __len__(self) -> int:
        return len(self.lists) - 1

    def choose(self, seed: Sequence[int], model: PreTrainedModel | None = None) -> NDArray[np.int64]:
        """Chooses the translation of each reference that is the example of the label `translation`: (references,).

        One of each list is drawn. Given a model it is the one to which that gives the highest probability of being a
        reference, the first of equals (paper 000, section 5.6.1, repeated for each epoch as in expectation
        maximisation).
        """
        sizes = np.diff(self.lists)
        if model is None:
            return self.lists[:-1] + np.random.default_rng(list(seed)).integers(sizes)
        scores = reference_probabilities(model, self.ids.part(int(self.lists[0]), int(self.lists[-1])))
        best = np.lexsort((-scores, np.repeat(np.arange(len(self)), sizes)))
        return self.lists[0] + best[self.lists[:-1] - self.lists[0]]

    def batch(self, rows: NDArray[np.int64], pad_token_id: int) -> dict[str, Tensor]:
        """Makes a batch of sentences: `input_ids`, `attention_mask` (rows, length), `labels` (rows,), all int64."""
        ids, mask = self.ids.padded(rows, pad_token_id)
        labels = rows < len(self)
        return {
            "input_ids": torch.from_numpy(ids),
            "attention_mask": torch.from_numpy(mask.astype(np.int64)),
            "labels": torch.from_numpy(labels.astype(np.int64)),
        }

    def accuracy(self, model: PreTrainedModel, chosen: NDArray[np.int64]) -> dict[str, float]:
        """Classifies every reference and its chosen translation (paper 000, table 8).

        Returns:
            How often the model is right, in per cent: `accuracy` on both together, on `references` and on
            `translations`; and the number of `sentences`. A probability of exactly 0.5 counts as `translation`.
        """
        human = reference_probabilities(model, self.ids.take(np.concatenate([np.arange(len(self)), chosen]))) > 0.5
        references, translations = human[: len(self)], ~human[len(self) :]
        right = {"accuracy": np.concatenate([references, translations])}
        right |= {"references": references, "translations": translations}
        return {**{name: 100.0 * float(values.mean()) for name, values in right.items()}, "sentences": len(human)}


class ClassifierTrainer(EpochTrainer):
    """Trains a reference classifier by cross-entropy (paper 000, section 5.6.1).

    An epoch sees every reference once and, for each, one translation of its n-best list, drawn or the `hardest` (see
    :meth:`ReferenceExamples.choose`). The loss of a batch is the mean cross-entropy plus
    0.5 · `embedding_penalty` · ‖W‖², W being all word vectors: the paper's L2 regulariser, with the factor 0.5 of the
    authors' other code. The weights of the epoch with the best accuracy on the dev part, on one translation a
    reference that was drawn once, are in the model when :meth:`train` returns.
    """

    criterion = "accuracy"

    def __init__(
        self,
        model: PreTrainedModel,
        args: EpochTrainingArguments,
        train: ReferenceExamples,
        dev: ReferenceExamples,
        *,
        hardest: bool = False,
        embedding_penalty: float = 0.0,
        report: Callable[[str], None] | None = None,
    ) -> None:
        self.hardest, self.embedding_penalty = hardest, embedding_penalty
        self.examples = train
        self.dev = dev
        self.chosen = train.choose([args.seed, 0])
        batches = EpochBatches(2 * len(train), args.per_device_train_batch_size, args.seed, args.world_size)
        super().__init__(model, args, batches, self._collate, dev_size=len(dev), report=report)

    def begin_epoch(self, epoch: int) -> None:
        """Sets the order and the translations of an epoch, counted from 0."""
        super().begin_epoch(epoch)
        # Before the first epoch the model knows nothing.
        model = self.accelerator.unwrap_model(self.model) if self.hardest and epoch else None
        self.chosen = self.examples.choose([self.args.seed, epoch], model)

    def _collate(self, items: list[Item]) -> dict[str, Tensor]:
        numbers = np.array([number for _, number in items], np.int64)
        size = len(self.examples)
        rows = np.where(numbers < size, numbers, self.chosen[numbers % size])
        return self.examples.batch(rows, self.model.config.pad_token_id or 0)

    def loss_of(self, output: Any, model: nn.Module, inputs: dict[str, Any]) -> Tensor:
        """Returns the mean cross-entropy with the penalty on the word vectors."""
        loss = super().loss_of(output, model, inputs)
        if self.embedding_penalty > 0:
            embeddings = self.accelerator.unwrap_model(model).get_parameter("embeddings")
            loss = loss + 0.5 * self.embedding_penalty * embeddings.square().sum()
        return loss

    def evaluate(self, *args: Any, **kwargs: Any) -> dict[str, float]:
        """Measures the accuracy on the dev part and reports it."""
        accuracy = self.test(self.dev)
        metrics = {f"eval_{name}": float(value) for name, value in accuracy.items()}
        return self.report_scores(metrics, f"epoch {self.state.epoch or 0:g}: dev accuracy {accuracy['accuracy']:.2f}")

    def test(self, examples: ReferenceExamples) -> dict[str, float]:
        """Measures the accuracy on a part, on one translation a reference that is drawn with the seed."""
        chosen = examples.choose([self.args.seed, _DEV_DRAW])
        return examples.accuracy(self.accelerator.unwrap_model(self.model), chosen)

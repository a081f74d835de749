"""What a reference classifier is trained and tested on: references, and one translation of each n-best list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from torch import Tensor
from transformers import PreTrainedModel, PreTrainedTokenizerFast

from ..training.batches import Item
from .classifier import ClassifierInputs, reference_probabilities, tokenize
from .references import Reference
from .trainer import Examples

# The epochs' own draws are numbered from 0.
_DEV_DRAW = 1 << 32


class ReferenceExamples(Examples):
    """References with their n-best lists, to train on and to choose the epoch.

    An epoch has every reference once and, for each, one translation of its list: drawn, or the `hardest` one (see
    :meth:`ReferenceLists.choose`).
    """

    criterion = "accuracy"

    def __init__(self, train: ReferenceLists, dev: ReferenceLists, *, hardest: bool = False) -> None:
        self.train, self.dev, self.dev_size, self.hardest = train, dev, len(dev), hardest
        self.chosen = train.lists[:-1]

    def __len__(self) -> int:
        return 2 * len(self.train)

    def begin_epoch(self, seed: int, epoch: int, model: PreTrainedModel) -> None:
        """Choose the translations of an epoch; before the first one the model is untrained, so they are drawn."""
        self.chosen = self.train.choose([seed, epoch], model if self.hardest and epoch else None)

    def batch(self, items: Sequence[Item], model: PreTrainedModel, seed: int) -> dict[str, Tensor]:
        """Make a batch of references, label 1, and translations, label 0."""
        indices = np.array([index for _, index in items], np.int64)
        size = len(self.train)
        rows = np.where(indices < size, indices, self.chosen[indices % size])
        return self.train.inputs.batch(rows, model.config.pad_token_id or 0)

    def dev_scores(self, model: PreTrainedModel, seed: int) -> tuple[dict[str, float], str]:
        """Compute the accuracy on the dev part."""
        scores = self.dev.test(model, seed)
        return scores, f"dev accuracy {scores['accuracy']:.2f}"


@dataclass
class ReferenceLists:
    """Tokenized references and their n-best lists.

    Attributes:
        inputs: The references, then the translations, list by list.
        lists: The first row of the list of each reference, then the number of rows (references + 1,), int64.
    """

    inputs: ClassifierInputs
    lists: NDArray[np.int64]

    @classmethod
    def encode(cls, references: Sequence[Reference], tokenizer: PreTrainedTokenizerFast) -> ReferenceLists:
        """Tokenize references and translations."""
        texts = [reference.text for reference in references]
        texts += [text for reference in references for text in reference.translations]
        sizes = [len(reference.translations) for reference in references]
        labels = (np.arange(len(texts)) < len(references)).astype(np.int64)
        return cls(tokenize(tokenizer, texts, targets=labels), len(sizes) + np.cumsum([0, *sizes], dtype=np.int64))

    def __len__(self) -> int:
        return len(self.lists) - 1

    def choose(self, seed: Sequence[int], model: PreTrainedModel | None = None) -> NDArray[np.int64]:
        """Choose one translation of each reference as the example of the label `translation` (references,).

        Without a model it is drawn from the list. A model chooses the first of the translations with the highest
        probability of being a reference (Wieting et al. 2017, section 5.6.1).
        """
        sizes = np.diff(self.lists)
        if model is None:
            return self.lists[:-1] + np.random.default_rng(list(seed)).integers(sizes)
        translations = ClassifierInputs(self.inputs.first.part(int(self.lists[0]), int(self.lists[-1])))
        scores = reference_probabilities(model, translations)
        best = np.lexsort((-scores, np.repeat(np.arange(len(self)), sizes)))
        return self.lists[0] + best[self.lists[:-1] - self.lists[0]]

    def test(self, model: PreTrainedModel, seed: int) -> dict[str, float]:
        """Classify every reference and one drawn translation of each (Wieting et al. 2017, table 8).

        Returns:
            The accuracy in per cent: `accuracy` on both together, on `references` and on `translations`; and the
            number of `sentences`. A probability of exactly 0.5 counts as `translation`.
        """
        rows = np.concatenate([np.arange(len(self)), self.choose([seed, _DEV_DRAW])])
        human = reference_probabilities(model, ClassifierInputs(self.inputs.first.take(rows))) > 0.5
        references, translations = human[: len(self)], ~human[len(self) :]
        right = {"accuracy": np.concatenate([references, translations])}
        right |= {"references": references, "translations": translations}
        return {**{name: 100.0 * float(values.mean()) for name, values in right.items()}, "sentences": len(human)}

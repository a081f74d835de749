"""References and their translations as token ids, and which translation stands for which reference in an epoch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from transformers import PreTrainedModel, PreTrainedTokenizerFast

from ...tokenization.token_ids import TokenIds
from .reference_classification import reference_probabilities, token_ids
from .reference_lists import ReferenceLists


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
    def encode(cls, lists: ReferenceLists, tokenizer: PreTrainedTokenizerFast) -> ReferenceExamples:
        """Tokenises references and translations."""
        translations = [text for items in lists.translations for text in items]
        ids = token_ids(tokenizer, [*lists.references, *translations])
        begins = np.full(len(lists) + 1, len(lists), np.int64)
        begins[1:] += np.cumsum([len(items) for items in lists.translations])
        return cls(ids, begins)

    def __len__(self) -> int:
        return len(self.lists) - 1

    @property
    def has_choice(self) -> bool:
        """Whether any reference has more than one translation."""
        return bool((np.diff(self.lists) > 1).any())

    def choose(self, negatives: str, seed: Sequence[int], model: PreTrainedModel | None = None) -> NDArray[np.int64]:
        """Chooses the translation of each reference that is the example of the label `translation`.

        `random` draws one of each list. `hardest` takes the one to which the model gives the highest probability of
        being a reference, the first of equals (paper 000, section 5.6.1, repeated for each epoch as in expectation
        maximisation); without a model it draws.

        Returns:
            The numbers of the chosen sentences (references,).
        """
        sizes = np.diff(self.lists)
        if negatives == "random" or model is None:
            return self.lists[:-1] + np.random.default_rng(list(seed)).integers(sizes)
        scores = reference_probabilities(model, self.ids.part(int(self.lists[0]), int(self.lists[-1])))
        owner = np.repeat(np.arange(len(self)), sizes)
        best = np.lexsort((-scores, owner))
        return self.lists[0] + best[self.lists[:-1] - self.lists[0]]

    def batch(self, rows: NDArray[np.int64], pad_token_id: int) -> dict[str, Tensor]:
        """Makes a batch of sentences.

        Args:
            rows: The numbers of the sentences (rows,).
            pad_token_id: Fills up short sentences, on the right.

        Returns:
            `input_ids` and `attention_mask` (rows, length) and `labels` (rows,), 1 for references, all int64.
        """
        ids, mask = self.ids.padded(rows, pad_token_id)
        return {
            "input_ids": torch.from_numpy(ids),
            "attention_mask": torch.from_numpy(mask.astype(np.int64)),
            "labels": torch.from_numpy((rows < len(self)).astype(np.int64)),
        }


@dataclass(frozen=True)
class Accuracy:
    """How often a classifier is right, in per cent (paper 000, table 8).

    Attributes:
        accuracy: On references and translations together, as many of each.
    """

    accuracy: float
    references: float
    translations: float
    sentences: int


def measure_accuracy(model: PreTrainedModel, examples: ReferenceExamples, chosen: NDArray[np.int64]) -> Accuracy:
    """Classifies every reference and its chosen translation; a probability of exactly 0.5 counts as `translation`.

    Args:
        model: The classifier.
        examples: The sentences.
        chosen: The numbers of the translations (references,), see :meth:`ReferenceExamples.choose`.
    """
    rows = np.concatenate([np.arange(len(examples)), chosen])
    human = reference_probabilities(model, examples.ids.take(rows)) > 0.5
    references, translations = human[: len(examples)], ~human[len(examples) :]
    return Accuracy(
        accuracy=100.0 * float(np.concatenate([references, translations]).mean()),
        references=100.0 * float(references.mean()),
        translations=100.0 * float(translations.mean()),
        sentences=len(rows),
    )

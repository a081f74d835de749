"""What a batch of pairs looks like."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ..training.batches import Item
from .augmentation import Augmentation
from .encoded_pairs import EncodedPairs
from .token_rows import Sentences


class PairCollator:
    """Makes a batch of token ids from numbers of pairs, scrambling the words of some pairs.

    Scrambling: with probability `scramble`, drawn once for each pair and epoch, the words of both its sentences are
    put in random order, each independently of the other (section 4.2 of Wieting and Gimpel 2017). The draws depend on
    the seed, the epoch and the pair alone, so neither worker processes nor a resumed run change them.

    Attributes:
        size: The number of pairs, further ones with them.
    """

    def __init__(
        self,
        pairs: EncodedPairs,
        *,
        pad_token_id: int | None,
        scramble: float = 0.0,
        seed: int = 0,
        augmentation: Augmentation | None = None,
    ) -> None:
        self.pairs = pairs
        self.pad_token_id = pad_token_id
        self.scramble = scramble
        self.seed = seed
        self.augmentation = augmentation or Augmentation()
        self.size = len(pairs) + self.augmentation.size

    def __call__(self, items: Sequence[Item]) -> dict[str, Any]:
        """Makes a batch.

        Args:
            items: The epoch and the number of each pair.

        Returns:
            `input_ids` and `attention_mask` (sentences, length), int64: first all first sentences, then their partners
            in the same order, then the negatives that they were given; `keys`, an array (sentences,) with the numbers
            of the unscrambled token sequences, and `pairs`, the number of pairs, which both stay with the processor;
            of labelled pairs, `labels` (pairs,), float32; and what the augmentation adds for a term of the loss.
        """
        pairs = np.array([pair for _, pair in items], np.int64)
        epochs = np.array([epoch for epoch, _ in items], np.int64)
        sentences = self.sentences(epochs.tolist(), pairs)
        ids, mask = sentences.padded(np.arange(len(sentences)), self.pad_token_id)
        batch = {"input_ids": ids, "attention_mask": mask, "keys": sentences.keys, "pairs": len(pairs)}
        if self.pairs.labels is not None:
            labels = np.ones(len(pairs), np.float32)
            own = pairs < len(self.pairs)
            labels[own] = self.pairs.labels[pairs[own]]
            batch["labels"] = torch.from_numpy(labels)
        if self.augmentation.weight > 0:
            batch |= self.augmentation.batch(self.pairs, pairs, epochs, self.pad_token_id)
        return batch

    def sentences(self, epochs: Sequence[int], pairs: NDArray[np.int64]) -> Sentences:
        """Looks up the sentences of some pairs, scrambles those that are to be, and adds given negatives behind."""
        sentences = self._unscrambled(epochs, pairs)
        if self.scramble > 0:
            sentences.tokens = sentences.tokens[self._order(epochs, pairs, np.diff(sentences.offsets))]
        negatives = self.pairs.negatives_of(pairs[pairs < len(self.pairs)])
        return sentences if negatives is None else sentences.followed_by(negatives)

    def _unscrambled(self, epochs: Sequence[int], pairs: NDArray[np.int64]) -> Sentences:
        own = pairs < len(self.pairs)
        both_sides = np.concatenate([2 * pairs, 2 * pairs + 1])
        if own.all():
            return self.pairs.sentences(both_sides)
        known = self.pairs.sentences(both_sides[np.tile(own, 2)])
        numbers = pairs[~own] - len(self.pairs)
        further = self.augmentation.further(self.pairs, numbers, np.asarray(epochs, np.int64)[~own])
        places = np.empty(2 * len(pairs), np.int64)
        places[np.tile(own, 2)] = np.arange(len(known))
        places[np.tile(~own, 2)] = len(known) + np.arange(len(further))
        return known.followed_by(further).take(places)

    def _order(self, epochs: Sequence[int], pairs: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
        """Computes the order of the tokens (total,) in which scrambled sentences are permuted and others are not."""
        ends = lengths.cumsum()
        order = np.arange(ends[-1])
        for place, (epoch, pair) in enumerate(zip(epochs, pairs, strict=True)):
            generator = np.random.default_rng([self.seed, epoch, int(pair)])
            if generator.random() >= self.scramble:
                continue
            for row in (place, place + len(pairs)):
                generator.shuffle(order[ends[row] - lengths[row] : ends[row]])
        return order

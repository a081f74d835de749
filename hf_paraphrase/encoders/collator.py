"""What a batch of pairs looks like."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..training.batches import Item
from .encoded_pairs import EncodedPairs

if TYPE_CHECKING:
    from ..studies.expansion.training_expansions import Expansions


@dataclass
class Sentences:
    """Token ids of sentences laid end to end.

    Attributes:
        tokens: The ids (total,).
        offsets: Where each sentence begins, and the end (sentences + 1,), int64.
        keys: The numbers of the unscrambled token sequences (sentences,), int64.
    """

    tokens: NDArray[np.int32]
    offsets: NDArray[np.int64]
    keys: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.keys)

    def padded(self, rows: NDArray[np.int64], pad_token_id: int) -> tuple[Tensor, Tensor]:
        """Makes a batch of some of the sentences.

        Args:
            rows: The numbers of the sentences (rows,).
            pad_token_id: Fills up short sentences, on the right.

        Returns:
            `input_ids` and `attention_mask` (rows, length), int64.
        """
        starts = self.offsets[rows]
        lengths = self.offsets[rows + 1] - starts
        sentence, position = _places(lengths)
        ids = np.full((len(rows), int(lengths.max(initial=0))), pad_token_id, np.int64)
        ids[sentence, position] = self.tokens[starts[sentence] + position]
        mask = np.arange(ids.shape[1]) < lengths[:, None]
        return torch.from_numpy(ids), torch.from_numpy(mask.astype(np.int64))


def _places(lengths: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Tells for each token of sentences laid end to end its sentence and its place in it, both (total,)."""
    sentence = np.repeat(np.arange(len(lengths)), lengths)
    return sentence, np.arange(len(sentence)) - np.repeat(lengths.cumsum() - lengths, lengths)


class PairCollator:
    """Makes a batch of token ids from numbers of pairs, scrambling the words of some pairs.

    Scrambling: with probability `scramble`, drawn once for each pair and epoch, the words of both its sentences are
    put in random order, each independently of the other (section 4.2 of Wieting and Gimpel 2017). The draws depend on
    the seed, the epoch and the pair alone, so neither worker processes nor a resumed run change them.

    Args:
        pairs: The pairs.
        pad_token_id: Fills up short sentences.
        scramble: The probability.
        seed: The seed.
        expansions: Expansions of some sentences; those that join follow the pairs as further pairs, of a sentence and
            its expansion. They are numbered on from the last pair, and count as paraphrases.
        with_expanded: Also give the expansions of a batch's own sentences.

    Attributes:
        size: The number of pairs, those that join with them.
    """

    def __init__(
        self,
        pairs: EncodedPairs,
        *,
        pad_token_id: int,
        scramble: float = 0.0,
        seed: int = 0,
        expansions: Expansions | None = None,
        with_expanded: bool = False,
    ) -> None:
        if with_expanded and expansions is None:
            raise ValueError("there are no expansions to give")
        self.pairs = pairs
        self.pad_token_id = pad_token_id
        self.scramble = scramble
        self.seed = seed
        self.expansions = expansions
        self.with_expanded = with_expanded
        self.size = len(pairs) + (0 if expansions is None else len(expansions.joined))

    def __call__(self, items: Sequence[Item]) -> dict[str, Tensor]:
        """Makes a batch.

        Args:
            items: The epoch and the number of each pair.

        Returns:
            `input_ids` and `attention_mask` (2 * pairs, length), int64, first all first sentences, then their
            partners in the same order, `keys` (2 * pairs,), the numbers of the unscrambled token sequences, and, of
            labelled pairs, `labels` (pairs,), int64. With expansions asked for, and if there are any in the batch,
            `expanded_rows` (expanded,), which of the sentences have one, and the expansions' `expanded_input_ids`
            and `expanded_attention_mask` (expanded, expanded length), int64; they are not scrambled.
        """
        pairs = np.array([pair for _, pair in items], np.int64)
        sentences = self.sentences([epoch for epoch, _ in items], pairs)
        ids, mask = sentences.padded(np.arange(len(sentences)), self.pad_token_id)
        batch = {"input_ids": ids, "attention_mask": mask, "keys": torch.from_numpy(sentences.keys)}
        if self.pairs.labels is not None:
            labels = np.ones(len(pairs), np.int64)
            own = pairs < len(self.pairs)
            labels[own] = self.pairs.labels[pairs[own]]
            batch["labels"] = torch.from_numpy(labels)
        if self.with_expanded:
            batch |= self._expanded(np.array([epoch for epoch, _ in items], np.int64), pairs)
        return batch

    def _expanded(self, epochs: NDArray[np.int64], pairs: NDArray[np.int64]) -> dict[str, Tensor]:
        """Looks up the expansions of the sentences of a batch; those that joined as pairs have theirs already."""
        assert self.expansions is not None
        own = pairs < len(self.pairs)
        rows = np.where(own, 2 * pairs, 0)
        variants = self.expansions.variant(np.concatenate([rows, rows + own]), np.tile(epochs, 2))
        places = np.flatnonzero(np.tile(own, 2) & (variants >= 0))
        if not len(places):
            return {}
        starts, ends = self.expansions.offsets[variants[places]], self.expansions.offsets[variants[places] + 1]
        sentence, position = _places(ends - starts)
        tokens = self.expansions.tokens[starts[sentence] + position]
        offsets = np.concatenate([np.zeros(1, np.int64), (ends - starts).cumsum()])
        laid = Sentences(tokens, offsets, np.zeros(len(places), np.int64))
        ids, mask = laid.padded(np.arange(len(places)), self.pad_token_id)
        return {
            "expanded_rows": torch.from_numpy(places),
            "expanded_input_ids": ids,
            "expanded_attention_mask": mask,
        }

    def sentences(self, epochs: Sequence[int], pairs: NDArray[np.int64]) -> Sentences:
        """Looks up the sentences of some pairs and scrambles those that are to be.

        Args:
            epochs: The epoch of each pair (pairs,).
            pairs: The number of each pair (pairs,).

        Returns:
            2 * pairs sentences: first all first sentences, then their partners in the same order.
        """
        rows, variants = self._rows(epochs, pairs)
        starts = self.pairs.offsets[rows]
        lengths = self.pairs.offsets[rows + 1] - starts
        if variants is None:
            sentence, position = _places(lengths)
            tokens = self.pairs.tokens[starts[sentence] + position]
        else:
            assert self.expansions is not None
            expanded = variants >= 0
            starts[expanded] = self.expansions.offsets[variants[expanded]]
            lengths[expanded] = self.expansions.offsets[variants[expanded] + 1] - starts[expanded]
            sentence, position = _places(lengths)
            places, inside = starts[sentence] + position, expanded[sentence]
            tokens = np.empty(len(places), np.int32)
            tokens[~inside] = self.pairs.tokens[places[~inside]]
            tokens[inside] = self.expansions.tokens[places[inside]]
        if self.scramble > 0:
            tokens = tokens[self._order(epochs, pairs, lengths)]
        offsets = np.concatenate([np.zeros(1, np.int64), lengths.cumsum()])
        return Sentences(tokens, offsets, self.pairs.keys[rows])

    def _rows(
        self, epochs: Sequence[int], pairs: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64] | None]:
        """Finds the rows of the sentences of some pairs, and the number of the expansion that stands for one.

        Returns:
            The rows (2 * pairs,), and where any of the pairs joined them as one of a sentence and its expansion, for
            each row the number of the expansion, below 0 where it stands for itself. An expansion has the row, and so
            the key, of its sentence: neither is the other's negative.
        """
        joined = pairs >= len(self.pairs)
        if self.expansions is None or not joined.any():
            return np.concatenate([2 * pairs, 2 * pairs + 1]), None
        origins = self.expansions.joined[pairs[joined] - len(self.pairs)]
        first, second = 2 * pairs, 2 * pairs + 1
        first[joined] = second[joined] = origins
        variants = np.full(2 * len(pairs), -1, np.int64)
        variants[len(pairs) :][joined] = self.expansions.variant(origins, np.asarray(epochs, np.int64)[joined])
        return np.concatenate([first, second]), variants

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

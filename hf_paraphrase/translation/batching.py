"""Length-bucketed mini-batches of a tokenised bitext, and their pieces where sentences are long."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import torch
from tokenizers import Tokenizer
from torch.utils.data import Dataset, Sampler
from transformers import PreTrainedTokenizerBase

from ..errors import InputError
from .bpe_dropout import BpeMerges, RedrawnSentences


class TokenizedBitext(Dataset[dict[str, list[int]]]):
    """Sentence pairs as unit numbers, `input_ids` and `labels`, both with the end token."""

    def __init__(self, input_ids: Sequence[list[int]], labels: Sequence[list[int]]) -> None:
        if len(input_ids) != len(labels):
            raise ValueError(f"{len(input_ids)} sources but {len(labels)} targets")
        self.input_ids = input_ids
        self.labels = labels

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int) -> dict[str, list[int]]:
        return {"input_ids": self.input_ids[index], "labels": self.labels[index]}

    @property
    def is_redrawn(self) -> bool:
        """Whether its words are cut again in every epoch."""
        return isinstance(self.labels, RedrawnSentences)

    def set_epoch(self, epoch: int) -> np.ndarray:
        """Draws the segmentations of an epoch, where they change, and returns the lengths as they are then."""
        for side in (self.input_ids, self.labels):
            if isinstance(side, RedrawnSentences):
                side.set_epoch(epoch)
        return self.lengths()

    def lengths(self) -> np.ndarray:
        """Returns the length of the longer side of every pair, in units."""
        return np.array(
            [max(len(a), len(b)) for a, b in zip(self.input_ids, self.labels, strict=True)], dtype=np.int64
        )


def tokenize_bitext(
    tokenizer: PreTrainedTokenizerBase,
    sources: Sequence[str],
    targets: Sequence[str],
    *,
    max_units: int | None = None,
    bpe_dropout: float = 0.0,
    seed: int = 0,
) -> TokenizedBitext:
    """Turns sentence pairs into unit numbers; a sentence beyond the tokenizer's own limit is cut there.

    Args:
        tokenizer: The tokenizer of both sides.
        sources: Source sentences.
        targets: Their translations.
        max_units: Pairs with a side of more units are left out (the reference: 50), the end token not counted.
        bpe_dropout: Share of the merges left out at random, redrawn in every epoch (Provilkov et al. 2020); the length
            limits are for sentences with all merges.
        seed: Seed of what is left out.
    """
    source_side = tokenizer(list(sources), truncation=True)
    target_side = tokenizer(text_target=list(targets), truncation=True)
    input_ids, labels = source_side["input_ids"], target_side["input_ids"]
    kept: list[int] | None = None
    if max_units is not None:
        kept = [
            index
            for index, pair in enumerate(zip(input_ids, labels, strict=True))
            if max(map(len, pair)) <= max_units + 1
        ]
        if not kept:
            raise InputError(
                f"none of the {len(labels)} sentence pairs has at most {max_units} units on both sides",
                remedy="raise --max-units or --vocab-size",
            )
        input_ids, labels = [input_ids[index] for index in kept], [labels[index] for index in kept]
    if not bpe_dropout:
        return TokenizedBitext(input_ids, labels)
    target_tokenizer: Tokenizer = tokenizer.backend_tokenizer
    source_tokenizer: Tokenizer = getattr(tokenizer, "source_tokenizer", target_tokenizer)
    sides = [
        RedrawnSentences(
            side.encodings if kept is None else [side.encodings[index] for index in kept],
            BpeMerges(backend),
            tokenizer.unk_token_id,
            dropout=bpe_dropout,
            # Any two numbers that differ: equal words of both sides are cut independently.
            seed=2 * seed + offset,
        )
        for offset, (side, backend) in enumerate([(source_side, source_tokenizer), (target_side, target_tokenizer)])
    ]
    return TokenizedBitext(*sides)


class MaxiBatchSampler(Sampler[list[int]]):
    """Mini-batches of similar length: maxi-batches are shuffled, sorted by length and cut (the reference's way).

    Every epoch draws a new order from `seed` and the epoch's number alone, so a resumed run sees the same batches.

    Args:
        lengths: Length of every pair.
        pairs_per_batch: Mini-batch size; the last one of an epoch may be smaller.
        batches_per_maxi_batch: How many mini-batches are sorted together (20 in the reference).
        seed: Seed of the order.
        processes: How many processes share the mini-batches. Each takes every so many-th one, and all must take the
            same number of steps, or those that are done leave the others waiting for ever; so some of the first
            mini-batches come again at the end if the number does not come out even.
        lengths_of_epoch: Gives the lengths in an epoch, where they change; it is called before the first mini-batch.
        drops_last: Leave out the smaller mini-batch and, of several processes, those for which not all have one.
    """

    def __init__(
        self,
        lengths: np.ndarray,
        pairs_per_batch: int,
        *,
        batches_per_maxi_batch: int = 20,
        seed: int = 0,
        processes: int = 1,
        lengths_of_epoch: Callable[[int], np.ndarray] | None = None,
        drops_last: bool = False,
    ) -> None:
        self.lengths = lengths
        self.lengths_of_epoch = lengths_of_epoch
        self.pairs_per_batch = pairs_per_batch
        self.batches_per_maxi_batch = batches_per_maxi_batch
        self.seed = seed
        self.processes = processes
        self.drops_last = drops_last
        self.epoch = 0
        # Accelerate looks for `set_epoch` here when it has wrapped this sampler to skip batches after a resume.
        self.sampler = self

    def set_epoch(self, epoch: int) -> None:
        """Chooses the order of the given epoch."""
        self.epoch = epoch

    def __len__(self) -> int:
        whole = math.floor if self.drops_last else math.ceil
        batches = whole(len(self.lengths) / self.pairs_per_batch)
        return whole(batches / self.processes) * self.processes

    def __iter__(self) -> Iterator[list[int]]:
        lengths = self.lengths_of_epoch(self.epoch) if self.lengths_of_epoch else self.lengths
        generator = np.random.default_rng([self.seed, self.epoch])
        order = generator.permutation(len(lengths))
        size = self.pairs_per_batch * self.batches_per_maxi_batch
        batches: list[np.ndarray] = []
        for start in range(0, len(order), size):
            maxi_batch = order[start : start + size]
            maxi_batch = maxi_batch[np.argsort(lengths[maxi_batch], kind="stable")]
            batches += [
                maxi_batch[cut : cut + self.pairs_per_batch] for cut in range(0, len(maxi_batch), self.pairs_per_batch)
            ]
        if self.drops_last and len(order) % self.pairs_per_batch:
            batches.pop()
        shuffled = generator.permutation(len(batches))
        for position in range(len(self)):
            yield batches[shuffled[position % len(batches)]].tolist()


class TranslationCollator:
    """Pads a list of pairs to tensors: `input_ids`, `attention_mask` and `labels` (−100 where there is none)."""

    def __init__(self, pad_token_id: int) -> None:
        self.pad_token_id = pad_token_id

    def __call__(self, pairs: Sequence[dict[str, list[int]]]) -> dict[str, torch.Tensor]:
        """Pads `input_ids` and `labels` of the pairs, each to its longest."""
        input_ids = _padded([pair["input_ids"] for pair in pairs], self.pad_token_id)
        lengths = torch.tensor([len(pair["input_ids"]) for pair in pairs])
        return {
            "input_ids": input_ids,
            "attention_mask": (torch.arange(input_ids.shape[1]) < lengths.unsqueeze(1)).long(),
            "labels": _padded([pair["labels"] for pair in pairs], -100),
        }


def split_batch(batch: dict[str, torch.Tensor], largest: int) -> list[dict[str, torch.Tensor]]:
    """Cuts a padded mini-batch into pieces of equally many pairs, so that each meets a limit on memory.

    What a training step keeps of the attention grows with pairs * source length * target length. The gradients of the
    pieces, each weighted by its share of the target units, add up to that of the whole mini-batch.

    Args:
        batch: `input_ids` and `attention_mask`, (pairs, source length), and `labels`, (pairs, target length), padded
            on the right.
        largest: Most attention weights a piece may have: pairs * source length * target length. A single pair may
            have more.

    Returns:
        The mini-batch itself if it is small enough; otherwise its pieces in order, without the padding that none of
        their pairs needs.
    """
    pairs, source_length = batch["input_ids"].shape
    most = max(1, largest // (source_length * batch["labels"].shape[1]))
    if pairs <= most:
        return [batch]
    size = math.ceil(pairs / math.ceil(pairs / most))
    return [
        _without_padding({name: tensor[start : start + size] for name, tensor in batch.items()})
        for start in range(0, pairs, size)
    ]


def _without_padding(batch: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    source_length = int(batch["attention_mask"].sum(1).max())
    target_length = int((batch["labels"] != -100).sum(1).max())
    return {name: tensor[:, : target_length if name == "labels" else source_length] for name, tensor in batch.items()}


def _padded(rows: Sequence[list[int]], value: int) -> torch.Tensor:
    padded = np.full((len(rows), max(map(len, rows))), value, dtype=np.int64)
    for index, row in enumerate(rows):
        padded[index, : len(row)] = row
    return torch.from_numpy(padded)

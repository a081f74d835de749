"""Length-bucketed mini-batches of a tokenised bitext."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import torch
from tokenizers import Tokenizer
from torch.utils.data import Dataset, Sampler
from transformers import PreTrainedTokenizerBase

from ..errors import InputError

VARIANTS = 4
"""How many ways to cut words an epoch has, with BPE-dropout."""


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

    def lengths(self) -> np.ndarray:
        """Returns the length of the longer side of every pair, in units."""
        return np.array(
            [max(len(a), len(b)) for a, b in zip(self.input_ids, self.labels, strict=True)], dtype=np.int64
        )


class RedrawnBitext(TokenizedBitext):
    """Sentence pairs whose words are cut into other units in every epoch (Provilkov et al. 2020, BPE-dropout).

    The dropout of the `tokenizers` library has no seed, so that a run could not be repeated. Here each epoch has
    :data:`VARIANTS` tokenizers that lack some of the merges, drawn from the seed and the epoch, and every sentence is
    cut by one of them. Before the first epoch the units are those of all merges.
    """

    def __init__(
        self,
        bitext: TokenizedBitext,
        tokenizer: PreTrainedTokenizerBase,
        texts: tuple[Sequence[str], Sequence[str]],
        *,
        dropout: float,
        seed: int,
    ) -> None:
        super().__init__(bitext.input_ids, bitext.labels)
        backend: Tokenizer = tokenizer.backend_tokenizer
        self._backends = (getattr(tokenizer, "source_tokenizer", None) or backend, backend)
        self._texts, self._dropout, self._seed = texts, dropout, seed
        for side in self._backends:
            if json.loads(side.to_str())["model"]["type"] != "BPE":
                raise ValueError("BPE-dropout is for BPE tokenizers")

    def set_epoch(self, epoch: int) -> np.ndarray:
        """Draws the units of an epoch, and returns the lengths as they are then."""
        self.input_ids, self.labels = (
            self._cut(texts, backend, np.random.default_rng([self._seed, epoch, side]))
            for side, (texts, backend) in enumerate(zip(self._texts, self._backends, strict=True))
        )
        return self.lengths()

    def _cut(self, texts: Sequence[str], backend: Tokenizer, generator: np.random.Generator) -> list[list[int]]:
        variants = [_without_some_merges(backend, self._dropout, generator) for _ in range(VARIANTS)]
        chosen = generator.integers(VARIANTS, size=len(texts))
        rows: list[list[int]] = [[] for _ in texts]
        for number, variant in enumerate(variants):
            indices = np.flatnonzero(chosen == number).tolist()
            encodings = variant.encode_batch([texts[index] for index in indices])
            for index, encoding in zip(indices, encodings, strict=True):
                rows[index] = encoding.ids
        return rows


def _without_some_merges(backend: Tokenizer, dropout: float, generator: np.random.Generator) -> Tokenizer:
    """Copies a BPE tokenizer without a random share of its merges."""
    state = json.loads(backend.to_str())
    merges = state["model"]["merges"]
    kept = generator.random(len(merges)) >= dropout
    state["model"]["merges"] = [merge for merge, is_kept in zip(merges, kept, strict=True) if is_kept]
    return Tokenizer.from_str(json.dumps(state))


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
        bpe_dropout: Share of the merges left out at random, redrawn in every epoch; the length limits are for
            sentences with all merges.
        seed: Seed of what is left out.
    """
    input_ids = tokenizer(list(sources), truncation=True)["input_ids"]
    labels = tokenizer(text_target=list(targets), truncation=True)["input_ids"]
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
        sources, targets, input_ids, labels = (
            [rows[index] for index in kept] for rows in (sources, targets, input_ids, labels)
        )
    bitext = TokenizedBitext(input_ids, labels)
    if not bpe_dropout:
        return bitext
    return RedrawnBitext(bitext, tokenizer, (sources, targets), dropout=bpe_dropout, seed=seed)


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
        input_ids = padded([pair["input_ids"] for pair in pairs], self.pad_token_id)
        lengths = torch.tensor([len(pair["input_ids"]) for pair in pairs])
        return {
            "input_ids": input_ids,
            "attention_mask": (torch.arange(input_ids.shape[1]) < lengths.unsqueeze(1)).long(),
            "labels": padded([pair["labels"] for pair in pairs], -100),
        }


def padded(rows: Sequence[Sequence[int]], value: int) -> torch.Tensor:
    """Pads rows of units on the right to the longest, (rows, length)."""
    filled = np.full((len(rows), max(map(len, rows))), value, dtype=np.int64)
    for index, row in enumerate(rows):
        filled[index, : len(row)] = row
    return torch.from_numpy(filled)

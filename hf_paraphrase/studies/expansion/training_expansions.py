"""Expansions of the sentences of paraphrase pairs as token ids: made once, before training.

Beyond paper 004, which trains an autoencoder, a sentence and its expansion are taken for a pair of paraphrases, and
its compositionality loss is added to the margin loss.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from transformers import PreTrainedTokenizerFast

from ...encoders.encoded_pairs import TokenArrays
from ...errors import InputError
from ...tokenization.token_lookup import ids_of, lookup_for
from .expander import Expander

_STREAM = 4


@dataclass
class Expansions:
    """Token ids of expanded sentences.

    The rows of the pairs are numbered as in :class:`~...encoders.encoded_pairs.EncodedPairs`: 2 * pair + side.

    Attributes:
        tokens: The ids of all expansions laid end to end (total,), int32.
        offsets: Where each expansion begins, and the end (sentences * variants + 1,), int64. Variant v of the n-th
            expanded sentence is number n * variants + v.
        numbers: For every row of the pairs which expanded sentence it is (rows,), int64; -1 if it is none.
        joined: The rows that join the training as pairs of themselves and their expansion (joined,), int64.
        variants: How many expansions a sentence has; the epochs take them in turn.
    """

    tokens: NDArray[np.int32]
    offsets: NDArray[np.int64]
    numbers: NDArray[np.int64]
    joined: NDArray[np.int64]
    variants: int

    def __len__(self) -> int:
        return (len(self.offsets) - 1) // self.variants

    def variant(self, rows: NDArray[np.int64], epochs: NDArray[np.int64]) -> NDArray[np.int64]:
        """Returns the number of the expansion that each row has in an epoch; below 0 where it has none."""
        numbers = self.numbers[rows]
        return np.where(numbers < 0, -1, numbers * self.variants + epochs % self.variants)


class ExpansionWriter:
    """Expands and tokenises the sentences of pairs as they come.

    Args:
        expander: Expands; it should expand at least one word of a sentence where it can.
        tokenizer: A fast tokenizer.
        share: How many pairs of a sentence and its expansion shall join, for each of the pairs, from 0 to 2; every
            sentence is drawn with half this probability, and those with nothing to expand fall out.
        everything: Expand all sentences, also those that do not join.
        variants: Different expansions of a sentence.
        seed: Seed of the draws.
        scratch: A folder on the disk that is to hold the ids; None for the system's temporary folder.
    """

    def __init__(
        self,
        expander: Expander,
        tokenizer: PreTrainedTokenizerFast,
        *,
        share: float,
        everything: bool,
        variants: int,
        seed: int = 0,
        scratch: str | os.PathLike[str] | None = None,
    ) -> None:
        self.expander = expander
        self.share = share
        self.everything = everything
        self.variants = variants
        self._backend = tokenizer.backend_tokenizer
        self._lookup = lookup_for(self._backend)
        self._draws = np.random.default_rng([seed, _STREAM])
        self._arrays = TokenArrays(scratch)
        self._numbers: list[NDArray[np.int64]] = []
        self._joined: list[NDArray[np.int64]] = []
        self._sentences = self._rows = 0

    def add(self, texts: list[str]) -> None:
        """Takes the sentences of the next rows of the pairs.

        Raises:
            OutputError: If the disk is full or not writable.
        """
        joins = self._draws.random(len(texts)) < self.share / 2
        wanted = np.flatnonzero(joins | self.everything)
        sentences = [texts[place] for place in wanted]
        ids = []
        usable = np.ones(len(wanted), bool)
        for variant in range(self.variants):
            found = self.expander.expand_counted(sentences, variant)
            encoded = ids_of(self._backend, found.texts, self._lookup)
            ids.append(np.split(encoded.ids.astype(np.int32), encoded.offsets[1:-1]) if sentences else [])
            usable &= (found.expanded > 0) & (np.diff(encoded.offsets) > 0)
        rows = [part[place] for place in np.flatnonzero(usable) for part in ids]
        if rows:
            self._arrays.append(rows, np.empty(0, np.int8))
        numbers = np.full(len(texts), -1, np.int64)
        kept = wanted[usable]
        numbers[kept] = self._sentences + np.arange(len(kept))
        self._numbers.append(numbers)
        self._joined.append(self._rows + kept[joins[kept]])
        self._sentences += len(kept)
        self._rows += len(texts)

    def finish(self) -> Expansions:
        """Returns the expansions of all sentences that were added.

        Raises:
            InputError: If none of them can be expanded.
            OutputError: If the disk is full or not writable.
        """
        with self._arrays as arrays:
            if not arrays.rows:
                raise InputError(
                    "no sentence of the pairs can be expanded", remedy="expansion is for English; leave it out"
                )
            found = arrays.finish(labelled=False, dropped=0, not_paraphrases=0)
        numbers, joined = np.concatenate(self._numbers), np.concatenate(self._joined)
        return Expansions(found.tokens, found.offsets, numbers, joined, self.variants)

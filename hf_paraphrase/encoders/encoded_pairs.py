"""Paraphrase pairs as token ids: tokenised once, before training, into flat arrays on disk."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..data.pair_rows import PairRows, PairSource
from ..errors import InputError
from ..tokenization.token_ids import id_counts
from ..tokenization.token_lookup import ids_of, lookup_for
from .token_rows import Sentences, TokenArrays

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

LABEL = "label"
"""The column of labelled pairs: 1 for a paraphrase, 0 for another pair."""


@dataclass
class EncodedPairs:
    """Token ids of paraphrase pairs.

    The arrays may be maps of files, of which the system keeps in memory what it has room for.

    Sentence `side` (0 or 1) of pair i is row 2 * i + side.

    Attributes:
        tokens: The ids of all sentences laid end to end (total,), int32.
        offsets: Where each row begins, and the end (2 * pairs + 1,), int64.
        keys: A number for each row (2 * pairs,), int64, equal where the token sequences are equal. It is 64 bits of a
            digest, so that no table of what was seen is needed: two different ones among a hundred million share it
            with a probability of one in a few thousand, and then merely do not serve as each other's negatives.
        labels: 1 where a pair is a paraphrase and 0 where not (pairs,), int8; None if pairs carry no labels.
        dropped: How many pairs were left out because a side had no tokens.
        not_paraphrases: How many pairs were left out because their label says that they are not paraphrases.
    """

    tokens: NDArray[np.int32]
    offsets: NDArray[np.int64]
    keys: NDArray[np.int64]
    labels: NDArray[np.int8] | None = None
    dropped: int = 0
    not_paraphrases: int = 0

    def __len__(self) -> int:
        return len(self.keys) // 2

    def sentences(self, rows: NDArray[np.int64]) -> Sentences:
        """Returns the sentences of some rows (rows,), in their order."""
        return Sentences(self.tokens, self.offsets, self.keys).take(rows)

    def are_all_the_same(self) -> bool:
        """Returns whether there are no other sentences than the two of the first pair, and so no negatives."""
        return bool(np.isin(self.keys, self.keys[:2]).all())

    def counts(self, vocabulary_size: int) -> NDArray[np.int64]:
        """Counts how often each id occurs (vocabulary,)."""
        return id_counts(self.tokens, vocabulary_size)


def encode_pairs(
    pairs: PairSource,
    tokenizer: PreTrainedTokenizerFast,
    *,
    max_pairs: int | None = None,
    seed: int = 0,
    split: str = "train",
    labelled: bool = False,
    scratch: str | os.PathLike[str] | None = None,
    read: Callable[[list[str]], object] | None = None,
) -> EncodedPairs:
    """Tokenises pairs; a pair with a side that has no tokens is left out and counted.

    The pairs are streamed, and their ids go to files without a name, which the system removes with the process
    however it ends; memory stays at one block of rows.

    Args:
        pairs: As for :func:`~..data.pair_rows.iterate_pairs`.
        tokenizer: A fast tokenizer.
        max_pairs: As for :func:`~..data.pair_rows.iterate_pairs`.
        seed: As for :func:`~..data.pair_rows.iterate_pairs`.
        split: The split of a data folder.
        labelled: Keep the labels of the column `label`. Otherwise pairs labelled 0 are left out and counted, if there
            is such a column at all: they are not paraphrases.
        scratch: A folder on the disk that is to hold the ids; None for the system's temporary folder.
        read: Called with the sentences of the next rows, block by block.
    """
    backend = tokenizer.backend_tokenizer
    lookup = lookup_for(backend)
    source = PairRows(pairs, split)
    sides, has_labels = source.sides, LABEL in source.columns
    if labelled and not has_labels:
        raise InputError(
            "the pairs have no column `label`", path=source.path, remedy="give pairs labelled 1 (paraphrase) or 0"
        )
    columns = [*sides, LABEL] if has_labels else list(sides)
    dropped = unlike = 0
    with TokenArrays(scratch) as arrays:
        for start, batch in source.batches(columns, max_pairs=max_pairs, seed=seed):
            labels = np.ones(batch.num_rows, np.int8)
            # Pairs without any labels, as the training part of Opusparcus, are all taken for paraphrases.
            if has_labels and (labelled or batch.column(LABEL).null_count < batch.num_rows):
                labels = _labels(batch, source.path, start)
            if not labelled:
                unlike += int((labels == 0).sum())
                batch, labels = batch.filter(pa.array(labels == 1)), labels[labels == 1]
            texts = [[text or "" for text in batch.column(name).to_pylist()] for name in sides]
            encoded = [ids_of(backend, side, lookup) for side in texts]
            both = [np.split(side.ids.astype(np.int32), side.offsets[1:-1]) for side in encoded]
            rows = list(zip(*both, strict=True)) if batch.num_rows else []
            kept = np.array([bool(len(first) and len(second)) for first, second in rows], bool)
            dropped += int((~kept).sum())
            usable = [row for pair, is_kept in zip(rows, kept, strict=True) if is_kept for row in pair]
            if usable:
                arrays.append(usable, labels[kept])
            if read is not None:
                read([side[place] for place in np.flatnonzero(kept) for side in texts])
        if not arrays.rows:
            reason = "the data set has no pairs"
            if unlike:
                reason = "no pair is labelled as a paraphrase"
            elif dropped:
                reason = "no usable pairs: every pair has an empty side"
            raise InputError(reason, path=source.path, remedy="give pairs of sentences in sentence1 and sentence2")
        sentences, labels = arrays.finish()
    return EncodedPairs(
        sentences.tokens, sentences.offsets, sentences.keys, labels if labelled else None, dropped, unlike
    )


def _labels(batch: pa.RecordBatch, folder: str | os.PathLike[str] | None, start: int) -> NDArray[np.int8]:
    values = batch.column(LABEL).to_pylist()
    for row, value in enumerate(values):
        if value not in (0, 1):
            raise InputError(
                f"label {value!r} of `{batch.column(0)[row].as_py()}` is neither 0 nor 1",
                path=folder,
                remedy=f"look among the rows from {start} on; 1 is a paraphrase, 0 is not",
            )
    return np.array(values, np.int8)

"""Paraphrase pairs as token ids: tokenised once, before training, into flat arrays on disk."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..data.pair_rows import PairRows, PairSource
from ..data.schema import BACK_TRANSLATED
from ..errors import InputError
from ..messages import log
from ..tokenization.token_ids import TokenIds, id_counts
from ..tokenization.token_lookup import ids_of, lookup_for
from .token_rows import Sentences, TokenArrays, ends_of

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

    from .sentence_encoder import SentenceEncoder

LABEL, SCORE = "label", "score"
"""The columns of labelled pairs (1 for a paraphrase, 0 for another pair) and of graded ones (from 0 to 1)."""


@dataclass
class EncodedPairs:
    """Token ids of paraphrase pairs.

    The arrays may be maps of files, of which the system keeps in memory what it has room for.

    Sentence `side` (0 or 1) of pair i is row 2 * i + side.

    Attributes:
        tokens: The ids of all sentences laid end to end (total,), int32.
        offsets: Where each row begins, and the end (2 * pairs + 1,), int64.
        keys: A number for each row (2 * pairs,), int64, see :func:`~.token_rows.text_keys`.
        labels: How much of a paraphrase each pair is, from 0 to 1 (pairs,), float32; None if pairs carry no labels.
        dropped: How many pairs were left out because a side had no tokens.
        not_paraphrases: How many pairs were left out because their label says that they are not paraphrases.
        negatives: The texts that were given as negatives of first sentences, pair by pair; None if there are none.
        negative_offsets: Where those of each pair begin, and the end (pairs + 1,), int64.
    """

    tokens: NDArray[np.integer]
    offsets: NDArray[np.int64]
    keys: NDArray[np.int64]
    labels: NDArray[np.floating] | None = None
    dropped: int = 0
    not_paraphrases: int = 0
    negatives: Sentences | None = None
    negative_offsets: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self.keys) // 2

    def sentences(self, rows: NDArray[np.int64]) -> Sentences:
        """Returns the sentences of some rows (rows,), in their order."""
        return Sentences(self.tokens, self.offsets, self.keys).take(rows)

    def negatives_of(self, pairs: NDArray[np.int64]) -> Sentences | None:
        """Returns the negatives that some pairs (pairs,) were given, in their order; None if no pair has any."""
        if self.negatives is None or self.negative_offsets is None:
            return None
        rows = [np.arange(*self.negative_offsets[pair : pair + 2]) for pair in pairs]
        return self.negatives.take(np.concatenate([np.zeros(0, np.int64), *rows]))

    def are_all_the_same(self) -> bool:
        """Returns whether there are no other sentences than the two of the first pair, and so no negatives."""
        return self.negatives is None and bool(np.isin(self.keys, self.keys[:2]).all())

    def counts(self, vocabulary_size: int) -> NDArray[np.int64]:
        """Counts how often each id occurs (vocabulary,)."""
        return id_counts(self.tokens, vocabulary_size)


def encode_pairs(
    pairs: PairSource,
    tokenizer: PreTrainedTokenizerFast | SentenceEncoder,
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
        pairs: As for :class:`~..data.pair_rows.PairRows`.
        tokenizer: A fast tokenizer, without special tokens; or an encoder, whose way to read texts is taken.
        max_pairs: As for :func:`~..data.pair_rows.iterate_pairs`.
        seed: Seed of the sample.
        split: The split of a data folder.
        labelled: Keep the values of the column `label`, or of `score`. Otherwise pairs labelled 0 are left out and
            counted, if there is such a column at all: they are not paraphrases.
        scratch: A folder on the disk that is to hold the ids; None for the system's temporary folder.
        read: Called with the sentences of the next rows, block by block.
    """
    tokenize = _tokenize(tokenizer)
    source = PairRows(pairs, split)
    graded = next((name for name in (LABEL, SCORE) if name in source.columns), None)
    if labelled and graded is None:
        raise InputError(
            "the pairs have no column `label` or `score`",
            path=source.path,
            remedy="give pairs labelled 1 (paraphrase) or 0, or scored from 0 to 1",
        )
    # A score says nothing of whether a pair is a paraphrase.
    graded = graded if labelled or graded == LABEL else None
    columns = [*source.sides, *source.negatives, *([graded] if graded else [])]
    _log_unused(source.columns, columns)
    dropped = unlike = 0
    all_labels: list[NDArray[np.float32]] = []
    counts: list[NDArray[np.int64]] = []
    with TokenArrays(scratch) as arrays, TokenArrays(scratch) as given:
        for start, batch in source.batches(columns, max_pairs=max_pairs, seed=seed):
            labels = np.ones(batch.num_rows, np.float32)
            # Pairs without any labels, as the training part of Opusparcus, are all taken for paraphrases.
            if graded and (labelled or batch.column(graded).null_count < batch.num_rows):
                labels = _labels(batch, graded, source, start)
            if not labelled:
                unlike += int((labels == 0).sum())
                batch, labels = batch.filter(pa.array(labels == 1)), labels[labels == 1]
            texts = source.texts(batch)
            first, second = (_rows(tokenize(side)) for side in texts)
            kept = np.array([bool(len(one) and len(other)) for one, other in zip(first, second, strict=True)], bool)
            places = np.flatnonzero(kept)
            dropped += len(kept) - len(places)
            arrays.append([side[place] for place in places for side in (first, second)])
            all_labels.append(labels[kept])
            if source.negatives:
                negatives = source.negatives_of(batch)
                counts.append(np.array([len(negatives[place]) for place in places], np.int64))
                # A text without tokens stays: it is similar to nothing.
                given.append(_rows(tokenize([text for place in places for text in negatives[place]])))
            if read is not None:
                read([side[place] for place in places for side in texts])
        if not arrays.rows:
            reason = "the data set has no pairs"
            if unlike:
                reason = "no pair is labelled as a paraphrase"
            elif dropped:
                reason = "no usable pairs: every pair has an empty side"
            raise InputError(reason, path=source.path, remedy="give pairs of sentences in sentence1 and sentence2")
        if truncated := getattr(getattr(tokenizer, "_tokens", None), "truncated", 0):
            log(f"{truncated} texts have more tokens than the model reads. Their ends are left out.")
        found = arrays.finish()
        return EncodedPairs(
            found.tokens,
            found.offsets,
            found.keys,
            np.concatenate(all_labels) if labelled else None,
            dropped,
            unlike,
            given.finish() if given.rows else None,
            ends_of(np.concatenate(counts)) if given.rows else None,
        )


def _tokenize(tokenizer: Any) -> Callable[[list[str]], TokenIds]:
    """Returns what computes the ids of texts: of a transformer with special tokens, of ours without."""
    if hasattr(tokenizer, "token_ids") and hasattr(tokenizer.model, "transformer"):
        return tokenizer.token_ids
    backend = getattr(tokenizer, "tokenizer", tokenizer).backend_tokenizer
    lookup = lookup_for(backend)
    return lambda texts: ids_of(backend, texts, lookup)


def _rows(ids: TokenIds) -> list[NDArray[np.int32]]:
    """Returns the ids of each text."""
    if len(ids.offsets) == 1:
        return []
    return np.split(ids.ids.astype(np.int32), ids.offsets[1:-1])


def _log_unused(present: list[str], used: list[str]) -> None:
    """Logs which columns are not trained on, but for those of back-translation."""
    unused = [name for name in present if name not in used and name not in BACK_TRANSLATED.names]
    if unused:
        log(f"columns of the pairs that are not used: {', '.join(unused)}")


def _labels(batch: pa.RecordBatch, column: str, source: PairRows, start: int) -> NDArray[np.float32]:
    values = batch.column(column).to_pylist()
    for row, value in enumerate(values):
        fits = value in (0, 1) if column == LABEL else isinstance(value, int | float) and 0 <= value <= 1
        if not fits:
            raise InputError(
                f"{column} {value!r} of `{batch.column(0)[row].as_py()}` is "
                + ("neither 0 nor 1" if column == LABEL else "not between 0 and 1"),
                path=source.path,
                remedy=f"look among the rows from {start} on; 1 is a paraphrase, 0 is not",
            )
    return np.array(values, np.float32)

"""Paraphrase pairs as token ids: tokenised once, before training, into flat arrays on disk."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..data.parquet import count_rows, iterate_batches, read_schema
from ..errors import InputError, OutputError
from ..tokenization.token_lookup import ids_of, lookup_for

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

_SIDES = ("sentence1", "sentence2")
_BITEXT_SIDES = ("source", "target")
LABEL = "label"
"""The column of labelled pairs: 1 for a paraphrase, 0 for another pair."""
_TOKENS_PER_COUNT = 1 << 22


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
        not_paraphrases: How many pairs were left out because their label says that they are no paraphrases.
    """

    tokens: NDArray[np.int32]
    offsets: NDArray[np.int64]
    keys: NDArray[np.int64]
    labels: NDArray[np.int8] | None = None
    dropped: int = 0
    not_paraphrases: int = 0

    def __len__(self) -> int:
        return len(self.keys) // 2

    def are_all_the_same(self) -> bool:
        """Tells whether there are no other sentences than the two of the first pair, and so no negatives."""
        return bool(np.isin(self.keys, self.keys[:2]).all())

    def counts(self, vocabulary_size: int) -> NDArray[np.int64]:
        """Counts how often each id occurs (vocabulary,)."""
        total = np.zeros(vocabulary_size, np.int64)
        for start in range(0, len(self.tokens), _TOKENS_PER_COUNT):
            total += np.bincount(self.tokens[start : start + _TOKENS_PER_COUNT], minlength=vocabulary_size)
        return total


def iterate_pairs(
    folder: str | os.PathLike[str], *, max_pairs: int | None = None, seed: int = 0, split: str = "train"
) -> Iterator[tuple[list[str], list[str]]]:
    """Streams the two sides of a data folder's pairs, a block at a time.

    Args:
        folder: A data folder with the columns `sentence1` and `sentence2`, or a bitext with `source` and `target`.
        max_pairs: Take a random sample of so many pairs, in the order of the folder; None for all.
        seed: Seed of the sample.
        split: The split to read.

    Yields:
        Two lists of equal length; a missing value is an empty text.

    Raises:
        InputError: If the folder, the split or a column is missing.
    """
    sides = sides_of(folder, split)
    for _, batch in _iterate_rows(folder, list(sides), max_pairs=max_pairs, seed=seed, split=split):
        first, second = ([text or "" for text in batch.column(name).to_pylist()] for name in sides)
        yield first, second


def sides_of(folder: str | os.PathLike[str], split: str = "train") -> tuple[str, str]:
    """Names the columns with the two sentences of a pair.

    Back-translated pairs have a column `source` too, so a folder is a bitext only where there are no such pairs.

    Args:
        folder: A data folder.
        split: The split to look at.

    Returns:
        `source` and `target` of a bitext, else `sentence1` and `sentence2`.

    Raises:
        InputError: If the folder or the split is missing.
    """
    names = read_schema(folder, split).names
    return _BITEXT_SIDES if set(names) >= set(_BITEXT_SIDES) and not set(names) & set(_SIDES) else _SIDES


def _iterate_rows(
    folder: str | os.PathLike[str], columns: list[str], *, max_pairs: int | None, seed: int, split: str
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Streams the sampled rows, each block with the number of the row at which it begins in the folder."""
    rows = count_rows(folder, split)
    chosen = None
    if max_pairs is not None and max_pairs < rows:
        chosen = np.zeros(rows, bool)
        chosen[np.random.default_rng(seed).choice(rows, max_pairs, replace=False)] = True
    start = 0
    for batch in iterate_batches(folder, split, columns):
        end = start + batch.num_rows
        yield start, batch if chosen is None else batch.filter(pa.array(chosen[start:end]))
        start = end


def encode_pairs(
    folder: str | os.PathLike[str],
    tokenizer: PreTrainedTokenizerFast,
    *,
    max_pairs: int | None = None,
    seed: int = 0,
    split: str = "train",
    labelled: bool = False,
    scratch: str | os.PathLike[str] | None = None,
    read: Callable[[list[str]], object] | None = None,
) -> EncodedPairs:
    """Tokenises the pairs of a data folder; a pair with a side that has no tokens is left out and counted.

    The pairs are streamed, and their ids go to files without a name, which the system removes with the process
    however it ends; memory stays at one block of rows.

    Args:
        folder: A data folder with the columns `sentence1` and `sentence2`, or a bitext with `source` and `target`.
        tokenizer: A fast tokenizer.
        max_pairs: As for :func:`iterate_pairs`.
        seed: As for :func:`iterate_pairs`.
        split: The split to read.
        labelled: Keep the labels of the column `label`. Otherwise pairs labelled 0 are left out and counted, if there
            is such a column at all: they are no paraphrases.
        scratch: A folder on the disk that is to hold the ids; None for the system's temporary folder.
        read: Called with the sentences of the next rows, block by block.

    Raises:
        InputError: If something is missing, a label is neither 0 nor 1, or no pair is left.
        OutputError: If the disk is full or not writable.
    """
    backend = tokenizer.backend_tokenizer
    lookup = lookup_for(backend)
    sides = sides_of(folder, split)
    has_labels = LABEL in read_schema(folder, split).names
    if labelled and not has_labels:
        raise InputError(
            "the pairs have no column `label`", path=folder, remedy="give pairs labelled 1 (paraphrase) or 0"
        )
    columns = [*sides, LABEL] if has_labels else list(sides)
    dropped = unlike = 0
    with TokenArrays(scratch) as arrays:
        for start, batch in _iterate_rows(folder, columns, max_pairs=max_pairs, seed=seed, split=split):
            labels = np.ones(batch.num_rows, np.int8)
            # Pairs without any labels, as the training part of Opusparcus, are all taken for paraphrases.
            if has_labels and (labelled or batch.column(LABEL).null_count < batch.num_rows):
                labels = _labels(batch, folder, start)
            if not labelled:
                unlike += int((labels == 0).sum())
                batch, labels = batch.filter(pa.array(labels == 1)), labels[labels == 1]
            texts = [[text or "" for text in batch.column(name).to_pylist()] for name in sides]
            encoded = [ids_of(backend, side, lookup) for side in texts]
            both = [np.split(side.ids.astype(np.int32), side.offsets[1:-1]) for side in encoded]
            pairs = list(zip(*both, strict=True)) if batch.num_rows else []
            kept = np.array([bool(len(first) and len(second)) for first, second in pairs], bool)
            dropped += int((~kept).sum())
            rows = [row for pair, is_kept in zip(pairs, kept, strict=True) if is_kept for row in pair]
            if rows:
                arrays.append(rows, labels[kept])
            if read is not None:
                read([side[place] for place in np.flatnonzero(kept) for side in texts])
        if not arrays.rows:
            reason = "the data set has no pairs"
            if unlike:
                reason = "no pair is labelled as a paraphrase"
            elif dropped:
                reason = "no usable pairs: every pair has an empty side"
            raise InputError(reason, path=folder, remedy="give pairs of sentences in sentence1 and sentence2")
        return arrays.finish(labelled=labelled, dropped=dropped, not_paraphrases=unlike)


def _labels(batch: pa.RecordBatch, folder: str | os.PathLike[str], start: int) -> NDArray[np.int8]:
    values = batch.column(LABEL).to_pylist()
    for row, value in enumerate(values):
        if value not in (0, 1):
            raise InputError(
                f"label {value!r} of `{batch.column(0)[row].as_py()}` is neither 0 nor 1",
                path=folder,
                remedy=f"look among the rows from {start} on; 1 is a paraphrase, 0 is none",
            )
    return np.array(values, np.int8)


class TokenArrays:
    """Token ids that grow in nameless files, which the system removes with the process.

    Args:
        scratch: A folder on the disk that is to hold them; None for the system's temporary folder.

    Attributes:
        rows: How many sentences there are.

    Raises:
        OutputError: If the folder is not writable.
    """

    def __init__(self, scratch: str | os.PathLike[str] | None) -> None:
        self.rows = 0
        self._files: dict[str, IO[bytes]] = {}
        try:
            for name in ("tokens", "lengths", "keys", "labels"):
                self._files[name] = tempfile.TemporaryFile(dir=scratch)  # noqa: SIM115
        except OSError as error:
            self._fail(error, scratch)
        self._scratch = scratch

    def __enter__(self) -> TokenArrays:
        return self

    def __exit__(self, *_: object) -> None:
        # A map keeps its file alive.
        for file in self._files.values():
            file.close()

    def append(self, rows: list[NDArray[np.int32]], labels: NDArray[np.int8]) -> None:
        """Adds the rows of some pairs, two of each, and a label for each pair.

        Raises:
            OutputError: If the disk is full.
        """
        digests = b"".join(hashlib.blake2b(row.tobytes(), digest_size=8).digest() for row in rows)
        parts: dict[str, NDArray[Any]] = {
            "tokens": np.concatenate(rows),
            "lengths": np.array([len(row) for row in rows], np.int64),
            "keys": np.frombuffer(digests, np.int64),
            "labels": labels,
        }
        try:
            for name, part in parts.items():
                self._files[name].write(part.tobytes())
        except OSError as error:
            self._fail(error, self._scratch)
        self.rows += len(rows)

    def finish(self, *, labelled: bool, dropped: int, not_paraphrases: int) -> EncodedPairs:
        """Maps the files.

        Raises:
            OutputError: If the disk is full.
        """
        try:
            for file in self._files.values():
                file.flush()
        except OSError as error:
            self._fail(error, self._scratch)
        offsets = np.zeros(self.rows + 1, np.int64)
        np.cumsum(self._map("lengths", np.int64), out=offsets[1:])
        return EncodedPairs(
            self._map("tokens", np.int32),
            offsets,
            self._map("keys", np.int64),
            self._map("labels", np.int8) if labelled else None,
            dropped,
            not_paraphrases,
        )

    def _map(self, name: str, kind: type[np.generic]) -> NDArray[Any]:
        return np.asarray(np.memmap(self._files[name], dtype=kind, mode="r"))

    @staticmethod
    def _fail(error: OSError, scratch: str | os.PathLike[str] | None) -> None:
        raise OutputError(
            f"cannot write the tokenised pairs: {error.strerror or error}", path=Path(scratch or tempfile.gettempdir())
        ) from error

"""Sentences as token ids laid end to end: in memory, and while they grow on disk."""

from __future__ import annotations

import hashlib
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NoReturn

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..errors import OutputError


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

    def padded(self, rows: NDArray[np.int64], pad_token_id: int | None) -> tuple[Tensor, Tensor]:
        """Makes a batch of some of the sentences.

        Args:
            rows: The numbers of the sentences (rows,).
            pad_token_id: Fills up short sentences, on the right; None for a token of theirs, so that in training no
                row of a table seems to occur that does not.

        Returns:
            `input_ids` and `attention_mask` (rows, length), int64.
        """
        starts = self.offsets[rows]
        lengths = self.offsets[rows + 1] - starts
        sentence, position = token_places(lengths)
        tokens = self.tokens[starts[sentence] + position]
        if pad_token_id is None:
            pad_token_id = int(tokens[0]) if len(tokens) else 0
        ids = np.full((len(rows), int(lengths.max(initial=0))), pad_token_id, np.int64)
        ids[sentence, position] = tokens
        mask = np.arange(ids.shape[1]) < lengths[:, None]
        return torch.from_numpy(ids), torch.from_numpy(mask.astype(np.int64))

    def followed_by(self, other: Sentences) -> Sentences:
        """Lays the other sentences behind these."""
        return Sentences(
            np.concatenate([self.tokens, other.tokens]),
            np.concatenate([self.offsets, other.offsets[1:] + len(self.tokens)]),
            np.concatenate([self.keys, other.keys]),
        )

    def take(self, rows: NDArray[np.int64]) -> Sentences:
        """Returns the sentences of these numbers (rows,), in their order."""
        starts = self.offsets[rows]
        lengths = self.offsets[rows + 1] - starts
        sentence, position = token_places(lengths)
        offsets = np.concatenate([np.zeros(1, np.int64), lengths.cumsum()])
        return Sentences(self.tokens[starts[sentence] + position], offsets, self.keys[rows])


def token_places(lengths: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Returns for each token of sentences laid end to end its sentence and its place in it, both (total,)."""
    sentence = np.repeat(np.arange(len(lengths)), lengths)
    return sentence, np.arange(len(sentence)) - np.repeat(lengths.cumsum() - lengths, lengths)


class GrowingArray:
    """Numbers of one type that grow in a file without a name, which the system removes with the process."""

    def __init__(self, kind: type[np.generic], scratch: str | os.PathLike[str] | None, what: str) -> None:
        self._kind = kind
        self._scratch = scratch
        self._what = what
        try:
            self._file: IO[bytes] = tempfile.TemporaryFile(dir=scratch)  # noqa: SIM115
        except OSError as error:
            self._fail(error)

    def append(self, numbers: NDArray[Any] | bytes) -> None:
        """Adds numbers."""
        try:
            self._file.write(numbers if isinstance(numbers, bytes) else numbers.astype(self._kind).tobytes())
        except OSError as error:
            self._fail(error)

    def map(self) -> NDArray[Any]:
        """Maps all numbers that were added; the map keeps the file alive."""
        try:
            self._file.flush()
        except OSError as error:
            self._fail(error)
        # Nothing cannot be mapped.
        mapped = np.memmap(self._file, self._kind, "r") if self._file.tell() else np.empty(0, self._kind)
        return np.asarray(mapped)

    def close(self) -> None:
        """Closes the file; what is mapped stays."""
        self._file.close()

    def _fail(self, error: OSError) -> NoReturn:
        raise OutputError(
            f"cannot write {self._what}: {error.strerror or error}", path=Path(self._scratch or tempfile.gettempdir())
        ) from error


class TokenArrays:
    """Token ids of pairs that grow in files without a name."""

    def __init__(self, scratch: str | os.PathLike[str] | None) -> None:
        self.rows = 0
        kinds: dict[str, type[np.generic]] = {
            "tokens": np.int32,
            "lengths": np.int64,
            "keys": np.int64,
            "labels": np.int8,
        }
        self._arrays = {name: GrowingArray(kind, scratch, "the tokenised pairs") for name, kind in kinds.items()}

    def __enter__(self) -> TokenArrays:
        return self

    def __exit__(self, *_: object) -> None:
        for array in self._arrays.values():
            array.close()

    def append(self, rows: list[NDArray[np.int32]], labels: NDArray[np.int8]) -> None:
        """Adds the rows of some pairs, two of each, and a label for each pair."""
        digests = b"".join(hashlib.blake2b(row.tobytes(), digest_size=8).digest() for row in rows)
        self._arrays["tokens"].append(np.concatenate(rows))
        self._arrays["lengths"].append(np.array([len(row) for row in rows]))
        self._arrays["keys"].append(digests)
        self._arrays["labels"].append(labels)
        self.rows += len(rows)

    def finish(self) -> tuple[Sentences, NDArray[np.int8]]:
        """Maps the files; returns the sentences, and the labels of the pairs (pairs,)."""
        arrays = {name: array.map() for name, array in self._arrays.items()}
        return Sentences(arrays["tokens"], ends_of(arrays["lengths"]), arrays["keys"]), arrays["labels"]


def ends_of(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Returns where each of some things laid end to end begins, and the end (things + 1,)."""
    return np.concatenate([np.zeros(1, np.int64), lengths.cumsum(dtype=np.int64)])

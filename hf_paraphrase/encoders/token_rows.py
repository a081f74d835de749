"""Sentences as token ids laid end to end: in memory, and while they grow on disk."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..errors import OutputError
from ..tokenization.token_ids import TokenIds


@dataclass
class Sentences:
    """Token ids of sentences laid end to end.

    Attributes:
        tokens: The ids (total,).
        offsets: Where each sentence begins, and the end (sentences + 1,), int64.
        keys: The numbers of the unscrambled token sequences (sentences,), int64.
    """

    tokens: NDArray[np.integer]
    offsets: NDArray[np.int64]
    keys: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def ids(self) -> TokenIds:
        """The token ids without the keys."""
        return TokenIds(self.tokens, self.offsets)  # type: ignore[arg-type]

    def padded(self, rows: NDArray[np.int64], pad_token_id: int | None) -> tuple[Tensor, Tensor]:
        """Makes a batch of some of the sentences (rows,), padded on the right.

        `input_ids` and `attention_mask`, int64. Short sentences are filled up with `pad_token_id`; None is a token of
        theirs, so that in training no row of a table seems to occur that does not.
        """
        if pad_token_id is None:
            some = self.ids.of_texts(rows[:1])
            pad_token_id = int(some[0]) if len(some) else 0
        ids, mask = self.ids.padded(rows, pad_token_id)
        return torch.from_numpy(ids), torch.from_numpy(mask.astype(np.int64))

    def followed_by(self, *others: Sentences) -> Sentences:
        """Lays other sentences behind these."""
        blocks = [self, *others]
        ids = TokenIds.joined(block.ids for block in blocks)
        return Sentences(ids.ids, ids.offsets, np.concatenate([block.keys for block in blocks]))

    def take(self, rows: NDArray[np.int64]) -> Sentences:
        """Returns the sentences of these numbers (rows,), in their order."""
        return Sentences(*self.ids.take(rows), self.keys[rows])


def ends_of(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Returns where each of some things laid end to end begins, and the end (things + 1,)."""
    return np.concatenate([np.zeros(1, np.int64), lengths.cumsum(dtype=np.int64)])


class GrowingArray:
    """Numbers of one type that grow in a file without a name, which the system removes with the process."""

    def __init__(self, kind: type[np.generic], scratch: str | os.PathLike[str] | None, what: str) -> None:
        self._kind, self._what = kind, what
        self._folder = Path(scratch or tempfile.gettempdir())
        with self._writing():
            self._file = tempfile.TemporaryFile(dir=scratch)  # noqa: SIM115

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise OutputError(f"cannot write {self._what}: {error.strerror or error}", path=self._folder) from error

    def append(self, numbers: NDArray[Any] | bytes) -> None:
        """Adds numbers."""
        with self._writing():
            self._file.write(numbers if isinstance(numbers, bytes) else numbers.astype(self._kind).tobytes())

    def map(self) -> NDArray[Any]:
        """Maps all numbers that were added; the map keeps the file alive."""
        with self._writing():
            self._file.flush()
        # Nothing cannot be mapped.
        mapped = np.memmap(self._file, self._kind, "r") if self._file.tell() else np.empty(0, self._kind)
        return np.asarray(mapped)

    def close(self) -> None:
        """Closes the file; what is mapped stays."""
        self._file.close()


class TokenArrays:
    """Sentences that grow in files without a name."""

    def __init__(self, scratch: str | os.PathLike[str] | None) -> None:
        self.rows = 0
        kinds: tuple[type[np.generic], ...] = (np.int32, np.int64, np.int64)
        self._tokens, self._lengths, self._keys = (GrowingArray(kind, scratch, "the token ids") for kind in kinds)

    def __enter__(self) -> TokenArrays:
        return self

    def __exit__(self, *_: object) -> None:
        for array in (self._tokens, self._lengths, self._keys):
            array.close()

    def append(self, rows: list[NDArray[np.int32]]) -> None:
        """Adds sentences."""
        if rows:
            self._tokens.append(np.concatenate(rows))
            self._lengths.append(np.array([len(row) for row in rows]))
            self._keys.append(text_keys(rows))
            self.rows += len(rows)

    def finish(self) -> Sentences:
        """Maps the files."""
        return Sentences(self._tokens.map(), ends_of(self._lengths.map()), self._keys.map())


def text_keys(rows: list[NDArray[np.int32]]) -> bytes:
    """Computes a number for each token sequence, int64, equal where they are equal.

    It is 64 bits of a digest, so that no table of what was seen is needed: two different ones among a hundred million
    share it with a probability of one in a few thousand, and then merely do not serve as each other's negatives.
    """
    return b"".join(hashlib.blake2b(row.tobytes(), digest_size=8).digest() for row in rows)

"""Sentences as token ids laid end to end: in memory, and while they grow on disk."""

from __future__ import annotations

import hashlib
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

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
        sentence, position = token_places(lengths)
        ids = np.full((len(rows), int(lengths.max(initial=0))), pad_token_id, np.int64)
        ids[sentence, position] = self.tokens[starts[sentence] + position]
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
    """Tells for each token of sentences laid end to end its sentence and its place in it, both (total,)."""
    sentence = np.repeat(np.arange(len(lengths)), lengths)
    return sentence, np.arange(len(sentence)) - np.repeat(lengths.cumsum() - lengths, lengths)


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

    def finish(self) -> tuple[Sentences, NDArray[np.int8]]:
        """Maps the files; returns the sentences, and the labels of the pairs (pairs,).

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
        sentences = Sentences(self._map("tokens", np.int32), offsets, self._map("keys", np.int64))
        return sentences, self._map("labels", np.int8)

    def _map(self, name: str, kind: type[np.generic]) -> NDArray[Any]:
        file = self._files[name]
        # What was told of no labels has none, and nothing cannot be mapped.
        return np.asarray(np.memmap(file, dtype=kind, mode="r")) if file.tell() else np.empty(0, kind)

    @staticmethod
    def _fail(error: OSError, scratch: str | os.PathLike[str] | None) -> None:
        raise OutputError(
            f"cannot write the tokenised pairs: {error.strerror or error}", path=Path(scratch or tempfile.gettempdir())
        ) from error

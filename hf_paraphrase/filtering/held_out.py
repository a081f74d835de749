"""References that are held out from the pairs, for a language model to be estimated on (paper 000, section 5.6)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import compress

import numpy as np
import pyarrow as pa

from ..data.fingerprints import is_among
from ..data.folder import DataFolder
from ..errors import InputError


@dataclass(frozen=True)
class HeldOutReferences:
    """Some of the distinct references of a data set, by their fingerprints, ascending, uint64 (references,)."""

    seed: int
    fingerprints: np.ndarray

    @classmethod
    def draw(cls, folder: DataFolder, split: str, count: int, seed: int) -> HeldOutReferences:
        """Draws distinct references of a split: those whose fingerprints, which the seed shuffles, are the lowest.

        The draw depends on the set of references alone, not on their order, and memory grows with `count` alone. An
        empty reference is never drawn.
        """
        lowest = np.empty(0, dtype=np.uint64)
        for batch in folder.batches(split, ["sentence1"]):
            filled = [text for text in batch.column("sentence1").to_pylist() if text]
            lowest = np.unique(np.concatenate([lowest, _fingerprints(filled, seed)]))[: count + 1]
        if len(lowest) <= count:
            raise InputError(
                f"split `{split}` has {len(lowest):,} distinct references, and {count:,} are to be held out",
                path=folder.path,
                remedy="hold out fewer, so that pairs are left",
            )
        return cls(seed, lowest[:count])

    def texts(self, folder: DataFolder, split: str) -> list[str]:
        """Returns the references, each once, in the order of the split."""
        batches = (batch.column("sentence1").to_pylist() for batch in folder.batches(split, ["sentence1"]))
        return list(dict.fromkeys(text for texts in batches for text in compress(texts, self.contains(texts))))

    def without(self, table: pa.Table) -> pa.Table:
        """Leaves out the pairs whose `sentence1` is one of them."""
        return table.filter(pa.array(~self.contains(table.column("sentence1").to_pylist())))

    def contains(self, references: Iterable[str | None]) -> np.ndarray:
        """Returns which references are among them: bool (references,)."""
        return is_among(_fingerprints(references, self.seed), self.fingerprints)


def _fingerprints(references: Iterable[str | None], seed: int) -> np.ndarray:
    """The first 64 bits of BLAKE2b of seed and text, uint64 (references,)."""
    key = seed.to_bytes(8, "little")
    digests = [
        hashlib.blake2b((text or "").encode("utf-8", "surrogatepass"), digest_size=8, key=key).digest()
        for text in references
    ]
    return np.frombuffer(b"".join(digests), dtype="<u8")

"""Estimates a language model from sentences, among them references that are held out from the pairs.

Paper 000, section 5.6, estimates its language models on references that are separate from the pairs to be selected.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from ...data.fingerprints import is_among
from ...data.folder import DataFolder
from ...errors import InputError
from .counts import TrigramCounter
from .kneser_ney import estimate, write_arpa


def train_language_model(
    blocks: Iterable[Sequence[str]], path: str | os.PathLike[str], *, source: str | os.PathLike[str]
) -> dict[str, Any]:
    """Estimates a 3-gram model of lower-cased tokens with interpolated modified Kneser-Ney smoothing.

    Returns:
        `sentences`, `tokens`, `words` (distinct), `ngrams` and `discounts` of each order, and the orders of which the
        discounts could not be estimated, `fallback_discounts`.
    """
    counter = TrigramCounter()
    for block in blocks:
        counter.add(block)
    if not counter.sentences:
        raise InputError(
            "the text of the language model has no word", path=source, remedy="give sentences with words, one a line"
        )
    model = estimate(counter)
    write_arpa(path, model)
    return {
        "sentences": counter.sentences,
        "tokens": counter.tokens,
        "words": len(counter.words) - 3,
        "ngrams": [len(keys) for keys in model.keys],
        "discounts": [[round(value, 6) for value in discounts.values] for discounts in model.discounts],
        "fallback_discounts": [order for order, item in enumerate(model.discounts, 1) if not item.estimated],
    }


@dataclass(frozen=True)
class HeldOutReferences:
    """Some of the distinct references of a data set.

    Attributes:
        fingerprints: 64-bit fingerprints of the drawn references, ascending, uint64 (references,).
    """

    seed: int
    fingerprints: np.ndarray

    def contains(self, references: Iterable[str | None]) -> np.ndarray:
        """Returns which references were drawn: bool (references,)."""
        return is_among(_fingerprints(references, self.seed), self.fingerprints)

    def without(self, table: pa.Table) -> pa.Table:
        """Leaves out the pairs whose `sentence1` was drawn."""
        return table.filter(pa.array(~self.contains(table.column("sentence1").to_pylist()))) if len(table) else table


def draw_references(folder: DataFolder, split: str, count: int, seed: int) -> HeldOutReferences:
    """Draws distinct references of a split: those whose fingerprints, which the seed shuffles, are the lowest.

    The draw depends on the set of references alone, not on their order, and memory grows with `count` alone. An empty
    reference is never drawn.
    """
    lowest = np.empty(0, dtype=np.uint64)
    for batch in folder.batches(split, ["sentence1"]):
        filled = [text for text in batch.column("sentence1").to_pylist() if text]
        fingerprints = np.unique(np.concatenate([lowest, _fingerprints(filled, seed)]))
        lowest = fingerprints[: count + 1]
    if len(lowest) <= count:
        raise InputError(
            f"split `{split}` has {len(lowest):,} distinct references, and {count:,} are to be held out",
            path=folder.path,
            remedy="hold out fewer, so that pairs are left",
        )
    return HeldOutReferences(seed, lowest[:count])


def held_out_texts(folder: DataFolder, split: str, held_out: HeldOutReferences) -> list[str]:
    """Returns the drawn references, each once, in the order of the split."""
    texts: dict[str, None] = {}
    for batch in folder.batches(split, ["sentence1"]):
        references = batch.column("sentence1").to_pylist()
        drawn = held_out.contains(references)
        texts.update(dict.fromkeys(references[place] for place in np.flatnonzero(drawn)))
    return list(texts)


def _fingerprints(references: Iterable[str | None], seed: int) -> np.ndarray:
    """The first 64 bits of BLAKE2b of seed and text, uint64 (references,)."""
    key = seed.to_bytes(8, "little")
    digests = b"".join(
        hashlib.blake2b((text or "").encode("utf-8", "surrogatepass"), digest_size=8, key=key).digest()
        for text in references
    )
    return np.frombuffer(digests, dtype="<u8")

"""The sentences of a text with their vectors, block by block, and the nearest of them to some queries.

Memory stays flat: neither the sentences nor their vectors are kept, only the nearest of each query.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...encoders.known_texts import KnownTexts
from ...encoders.search.nearest_neighbours import nearest_neighbours, unit_vectors
from ...encoders.search.stored_index import text_keys
from ...errors import ModelError

_ROWS = 10_000


@dataclass(frozen=True, eq=False)
class SentenceBlock:
    """Consecutive sentences of a text, without those that have no known word.

    Attributes:
        positions: The position of each in the text, from 1 (sentences,).
        texts: The sentences.
        vectors: Their vectors, none of which is zero (sentences, dim).
    """

    positions: NDArray[np.int64]
    texts: list[str]
    vectors: NDArray[np.float32]

    def cosines(self, queries: NDArray[np.float32]) -> NDArray[np.float64]:
        """Computes the cosines of queries (queries, dim) in double precision (queries, sentences)."""
        return np.clip(unit_vectors(queries, "queries") @ unit_vectors(self.vectors).T, -1.0, 1.0)


@dataclass
class StreamCounts:
    """What came in; sentences that are empty or have only unknown words (a zero vector) are left out."""

    read: int = 0
    empty: int = 0
    unknown: int = 0
    compared: int = 0


def encoded_blocks(
    texts: Iterable[Sequence[str | None]], encoder: KnownTexts, counts: StreamCounts, *, batch_size: int = 256
) -> Iterator[SentenceBlock]:
    """Encodes sentences, which come in blocks of any size."""
    for block in texts:
        for first in range(0, len(block), _ROWS):
            part = block[first : first + _ROWS]
            kept = [(position, text) for position, text in enumerate(part, counts.read + 1) if text and text.strip()]
            vectors = encoder.embed([text for _, text in kept], batch_size=batch_size)
            if not np.isfinite(vectors).all():
                raise ModelError("the encoder gave vectors with NaN or infinity")
            known = np.flatnonzero(vectors.any(axis=1))
            counts.read += len(part)
            counts.empty += len(part) - len(kept)
            counts.unknown += len(kept) - len(known)
            counts.compared += len(known)
            positions = np.array([kept[row][0] for row in known], np.int64)
            yield SentenceBlock(positions, [kept[row][1] for row in known], vectors[known])


@dataclass(frozen=True)
class NearSentence:
    """A sentence that is near a query.

    Attributes:
        position: Its position in the text, from 1.
        key: The same number for sentences that differ in case and spacing only.
    """

    score: float
    position: int
    sentence: str
    key: int


class NearestSentences:
    """Keeps for each query the k different sentences of the greatest cosine.

    Sentences that differ in case and spacing only count once, and the query itself not at all. Of equal cosines the
    earlier sentence comes first.
    """

    def __init__(self, queries: Sequence[str], vectors: NDArray[np.float32], k: int) -> None:
        self.k, self.vectors = k, vectors
        self.keys = text_keys(list(queries))
        self.lists: list[list[NearSentence]] = [[] for _ in queries]

    def add(self, block: SentenceBlock) -> None:
        """Takes in the next sentences."""
        keys, first = np.unique(text_keys(block.texts), return_index=True)
        order = np.argsort(first)
        keys, first = keys[order], first[order]
        rows, cosines = nearest_neighbours(self.vectors, block.vectors[first], self.k, keys=(self.keys, keys))
        for query, nearest in enumerate(self.lists):
            known = {item.key for item in nearest}
            for row, cosine in zip(rows[query].tolist(), cosines[query].tolist(), strict=True):
                if row >= 0 and int(keys[row]) not in known:
                    place = first[row]
                    nearest.append(
                        NearSentence(cosine, int(block.positions[place]), block.texts[place], int(keys[row]))
                    )
            nearest.sort(key=lambda item: (-item.score, item.position))
            del nearest[self.k :]

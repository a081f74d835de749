"""The sentences of a text with their vectors, block by block, and the nearest of them to some queries.

Memory stays flat: neither the sentences nor their vectors are kept, only the nearest of each query.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...encoders.known_texts import KnownTexts
from ...encoders.search.nearest_neighbours import nearest_neighbours
from ...errors import ModelError

_ROWS = 10_000
_DIGITS = 6
"""Cosines that agree to so many decimals are equal: single precision has no more of them."""


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
        sides = [side.astype(np.float64) for side in (queries, self.vectors)]
        one, two = (side / np.linalg.norm(side, axis=1, keepdims=True) for side in sides)
        return np.clip(one @ two.T, -1.0, 1.0)


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
    """A sentence that is near a query; its position in the text is from 1."""

    score: float
    position: int
    sentence: str

    @property
    def key(self) -> str:
        """The same for sentences that differ in case and spacing only."""
        return _normalized(self.sentence)


class NearestSentences:
    """Keeps for each query the k different sentences of the greatest cosine.

    Sentences that differ in case and spacing only count once, and the query itself not at all. Of equal cosines the
    earlier sentence comes first.
    """

    def __init__(self, queries: Sequence[str], vectors: NDArray[np.float32], k: int) -> None:
        self.k, self.vectors = k, vectors
        self.keys = [_normalized(query) for query in queries]
        self.lists: list[list[NearSentence]] = [[] for _ in queries]

    def add(self, block: SentenceBlock) -> None:
        """Takes in the next sentences."""
        first: dict[str, int] = {}
        for row, text in enumerate(block.texts):
            first.setdefault(_normalized(text), row)
        if not first:
            return
        places = np.array(list(first.values()))
        # One more than needed, because the query itself may be among them.
        rows, cosines = nearest_neighbours(self.vectors, block.vectors[places], self.k + 1)
        for query, own in enumerate(self.keys):
            nearest = self.lists[query]
            known = {item.key for item in nearest} | {own}
            for row, cosine in zip(places[rows[query]].tolist(), cosines[query].tolist(), strict=True):
                item = NearSentence(round(cosine, _DIGITS) + 0.0, int(block.positions[row]), block.texts[row])
                if item.key not in known:
                    nearest.append(item)
            nearest.sort(key=lambda item: (-item.score, item.position))
            del nearest[self.k :]


def _normalized(text: str) -> str:
    return " ".join(text.lower().split())

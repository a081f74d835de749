"""Sentences with their vectors in blocks, encoded as they come or read from a file, and the nearest of them.

Memory stays flat: neither the stream nor its vectors are kept, only the nearest sentences of each query.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice

import numpy as np
from numpy.typing import NDArray

from ...encoders.known_texts import KnownTexts
from ...encoders.search.nearest_neighbours import nearest_neighbours
from ...encoders.search.vector_file import VectorFile
from ...errors import InputError, ModelError
from ...evaluation.correlation import cosine_similarities

_ROWS = 10_000
_CHECKED_SENTENCES = 8
_SAME_VECTOR = 0.99
_DIGITS = 6
"""Cosines that agree to so many decimals are equal: single precision has no more of them."""


@dataclass(frozen=True, eq=False)
class SentenceBlock:
    """Consecutive sentences of a stream, without those that have no known word.

    Attributes:
        positions: The position of each in the input, from 1 (sentences,).
        vectors: Their vectors, none of which is zero (sentences, dim).
        texts: The sentences; None where only their vectors are given.
    """

    positions: NDArray[np.int64]
    vectors: NDArray[np.float32]
    texts: list[str] | None

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

    def block(
        self, positions: NDArray[np.int64], vectors: NDArray[np.float32], texts: list[str] | None
    ) -> SentenceBlock:
        """Counts the sentences of a block and leaves out those of zero vectors."""
        known = np.flatnonzero(vectors.any(axis=1))
        self.unknown += len(positions) - len(known)
        self.compared += len(known)
        return SentenceBlock(
            positions[known], vectors[known], None if texts is None else [texts[row] for row in known]
        )


def encoded_blocks(
    texts: Iterable[Sequence[str | None]], encoder: KnownTexts, counts: StreamCounts, *, batch_size: int = 256
) -> Iterator[SentenceBlock]:
    """Encodes sentences, which come in blocks of any size."""
    for block in texts:
        for first in range(0, len(block), _ROWS):
            part = block[first : first + _ROWS]
            kept = [(place, text) for place, text in enumerate(part, counts.read + 1) if text and text.strip()]
            counts.read += len(part)
            counts.empty += len(part) - len(kept)
            sentences = [text for _, text in kept]
            vectors = encoder.embed(sentences, batch_size=batch_size)
            if not np.isfinite(vectors).all():
                raise ModelError("the encoder gave vectors with NaN or infinity")
            yield counts.block(np.array([place for place, _ in kept], np.int64), vectors, sentences)


def stored_blocks(
    vectors: VectorFile, texts: Iterable[Sequence[str | None]] | None, encoder: KnownTexts, counts: StreamCounts
) -> Iterator[SentenceBlock]:
    """Reads vectors from a file.

    Args:
        vectors: The vectors of the sentences (sentences, dim).
        texts: The sentences of these vectors, in blocks of any size; None where they are not given.
        encoder: With texts: the encoder that shall have made the vectors, which is checked on a few of them.
        counts: Where to count what came in.
    """
    lines = None if texts is None else chain.from_iterable(texts)
    for first in range(0, len(vectors), _ROWS):
        part = vectors[first : first + _ROWS]
        bad = np.flatnonzero(~np.isfinite(part).all(axis=1))
        if len(bad):
            remedy = "re-create it"
            raise InputError(f"row {first + int(bad[0]) + 1} has NaN or infinity", path=vectors.path, remedy=remedy)
        sentences = None if lines is None else [text or "" for text in islice(lines, len(part))]
        if sentences is not None:
            if len(sentences) < len(part):
                raise _other_text(vectors, f"but only {first + len(sentences):,} sentences")
            if first == 0:
                _check_encoder(encoder, sentences, part, vectors)
        counts.read += len(part)
        yield counts.block(np.arange(first, first + len(part)) + 1, part, sentences)
    if lines is not None and next(lines, vectors) is not vectors:
        raise _other_text(vectors, "but more sentences")


def _other_text(vectors: VectorFile, found: str) -> InputError:
    remedy = "give the text whose lines were encoded to these vectors"
    return InputError(f"{len(vectors):,} vectors, {found}", path=vectors.path, remedy=remedy)


def _check_encoder(
    encoder: KnownTexts, texts: Sequence[str], vectors: NDArray[np.float32], source: VectorFile
) -> None:
    rows = [row for row, text in enumerate(texts) if text.strip()][:_CHECKED_SENTENCES]
    expected, stored = encoder.embed([texts[row] for row in rows]), vectors[rows]
    # Of unknown words one of them may be zero.
    nonzero = expected.any(axis=1) & stored.any(axis=1)
    if (nonzero & (cosine_similarities(expected, stored) < _SAME_VECTOR)).any():
        raise ModelError(
            "the encoder gives other vectors for the first sentences",
            path=source.path,
            remedy="give the encoder and the text that these vectors were made of, in the same order of lines",
        )


@dataclass(frozen=True)
class NearSentence:
    """A sentence that is near a query.

    Attributes:
        position: Its position in the input, from 1.
        sentence: Its text; None where only its vector is given.
    """

    score: float
    position: int
    sentence: str | None

    @property
    def key(self) -> str | int:
        """The same for sentences that differ in case and spacing only; the position where there is no text."""
        return self.position if self.sentence is None else _normalized(self.sentence)


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
        if not len(block.positions):
            return
        places = np.arange(len(block.positions))
        if block.texts is not None:
            first: dict[str, int] = {}
            for row, text in enumerate(block.texts):
                first.setdefault(_normalized(text), row)
            places = np.array(list(first.values()))
        # One more than needed, because the query itself may be among them.
        rows, cosines = nearest_neighbours(self.vectors, block.vectors[places], self.k + 1)
        for query, own in enumerate(self.keys):
            nearest = self.lists[query]
            known = {item.key for item in nearest} | {own}
            for row, cosine in zip(places[rows[query]].tolist(), cosines[query].tolist(), strict=True):
                text = None if block.texts is None else block.texts[row]
                item = NearSentence(round(cosine, _DIGITS) + 0.0, int(block.positions[row]), text)
                if item.key not in known:
                    nearest.append(item)
            nearest.sort(key=lambda item: (-item.score, item.position))
            del nearest[self.k :]


def _normalized(text: str) -> str:
    return " ".join(text.lower().split())

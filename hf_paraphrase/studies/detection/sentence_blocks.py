"""Sentences with their vectors in blocks, encoded as they come or read from a file, and the nearest of them.

Memory stays flat: neither the stream nor its vectors are held, only the best of each query.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice

import numpy as np
from numpy.typing import NDArray

from ...encoders.known_texts import KnownTexts
from ...encoders.search.sentence_table import text_keys
from ...encoders.search.vector_file import VectorFile
from ...errors import InputError, ModelError

_CELLS_PER_BLOCK = 1 << 23
"""Components, or cosines, in a block at most: 64 MiB in double precision."""
_MOST_ROWS = 1 << 15
_CHECKED_SENTENCES = 8
_SAME_VECTOR = 0.99

_DIGITS = 6
"""Cosines that agree to so many decimals are equal: single precision holds no more of them."""


@dataclass(frozen=True, eq=False)
class SentenceBlock:
    """Consecutive sentences of a stream, those without a known word left out.

    Attributes:
        positions: The place of each in the input, from 1, ascending (sentences,), int64.
        cosines: The cosine of each query with each of them (queries, sentences), float64, from -1 to 1.
        texts: The sentences; None where only their vectors are at hand.
    """

    positions: NDArray[np.int64]
    cosines: NDArray[np.float64]
    texts: list[str] | None

    def __len__(self) -> int:
        return len(self.positions)


@dataclass
class StreamCounts:
    """What came in.

    Attributes:
        empty: Those without any character but space, which are left out.
        unknown: Sentences without a word in the encoder's vocabulary (their vectors are zero), which are left out.
    """

    read: int = 0
    empty: int = 0
    unknown: int = 0
    compared: int = 0


def encoded_blocks(
    queries: NDArray[np.float32],
    texts: Iterable[Sequence[str | None]],
    encoder: KnownTexts,
    counts: StreamCounts,
    *,
    batch_size: int = 256,
    progress: Callable[[int], object] = lambda sentences: None,
) -> Iterator[SentenceBlock]:
    """Encodes sentences as they come and compares them with some queries.

    Args:
        queries: Unit vectors of the queries (queries, dim), float32.
        texts: The sentences in blocks of any size; None and empty texts are left out.
        encoder: The encoder of the queries and the sentences.
        counts: Where to count what came in.
        batch_size: Sentences in a padded batch of the encoder.
        progress: Called with the number of texts read.
    """
    step = _rows_per_block(queries)
    for block in texts:
        # Parts of one size: a small rest would be too little for the fast way of finding tokens.
        size = -(-len(block) // max(1, -(-len(block) // step)))
        for first in range(0, len(block), max(1, size)):
            part = block[first : first + size]
            filled = np.array([text is not None and bool(text.strip()) for text in part], bool)
            kept = [text for text in part if text is not None and text.strip()]
            positions = np.flatnonzero(filled) + counts.read + 1
            counts.read += len(part)
            counts.empty += len(part) - len(kept)
            if kept:
                vectors = encoder.embed(kept, batch_size=batch_size)
                if not np.isfinite(vectors).all():
                    raise ModelError("the encoder gave vectors with NaN or infinity")
                yield _compared(queries, vectors, positions, kept, counts)
            progress(len(part))


def stored_blocks(
    queries: NDArray[np.float32],
    vectors: VectorFile,
    texts: Iterable[Sequence[str | None]] | None,
    counts: StreamCounts,
    *,
    encoder: KnownTexts | None = None,
    progress: Callable[[int], object] = lambda vectors: None,
) -> Iterator[SentenceBlock]:
    """Reads vectors from a file and compares them with some queries.

    Args:
        queries: Unit vectors of the queries (queries, dim), float32.
        vectors: The vectors of the sentences (sentences, dim), of any length; those of length 0 are left out.
        texts: The sentences of these vectors, in blocks of any size; None where they are not at hand.
        counts: Where to count what came in.
        encoder: With texts: the encoder that shall have made the vectors, which is checked on a few of them.
        progress: Called with the number of vectors read.
    """
    step = _rows_per_block(queries)
    lines = None if texts is None else chain.from_iterable(texts)
    for first in range(0, len(vectors), step):
        part = vectors[first : first + step]
        bad = np.flatnonzero(~np.isfinite(part).all(axis=1))
        if len(bad):
            raise InputError(
                f"row {first + int(bad[0]) + 1} holds NaN or infinity", path=vectors.path, remedy="re-create it"
            )
        kept = None if lines is None else [text or "" for text in islice(lines, len(part))]
        if kept is not None and len(kept) < len(part):
            raise InputError(
                f"{len(vectors):,} vectors, but only {first + len(kept):,} sentences",
                path=vectors.path,
                remedy="give the text whose lines were encoded to these vectors",
            )
        if first == 0 and kept is not None and encoder is not None:
            _check_encoder(encoder, kept, part, vectors)
        counts.read += len(part)
        positions = np.arange(first, first + len(part)) + 1
        yield _compared(queries, part, positions, kept, counts)
        progress(len(part))
    if lines is not None and next(lines, vectors) is not vectors:
        raise InputError(
            f"{len(vectors):,} vectors, but more sentences",
            path=vectors.path,
            remedy="give the text whose lines were encoded to these vectors",
        )


def _rows_per_block(queries: NDArray[np.float32]) -> int:
    return max(1, min(_MOST_ROWS, _CELLS_PER_BLOCK // max(queries.shape)))


def _compared(
    queries: NDArray[np.float32],
    vectors: NDArray[np.float32],
    positions: NDArray[np.int64],
    texts: list[str] | None,
    counts: StreamCounts,
) -> SentenceBlock:
    """Computes the cosines in double precision, so that they do not depend on the sizes of the blocks."""
    wide = vectors.astype(np.float64)
    norms = np.sqrt(np.einsum("nd,nd->n", wide, wide))
    nonzero = norms > 0
    unknown = int((~nonzero).sum())
    if unknown:
        wide, norms, positions = wide[nonzero], norms[nonzero], positions[nonzero]
        texts = None if texts is None else [text for text, kept in zip(texts, nonzero.tolist(), strict=True) if kept]
    counts.unknown += unknown
    counts.compared += len(positions)
    sides = queries.astype(np.float64)
    lengths = np.sqrt(np.einsum("qd,qd->q", sides, sides))
    sides /= np.where(lengths > 0, lengths, 1.0)[:, None]
    cosines = sides @ wide.T
    cosines /= norms
    return SentenceBlock(positions, np.clip(cosines, -1.0, 1.0, out=cosines), texts)


def _check_encoder(
    encoder: KnownTexts, texts: Sequence[str], vectors: NDArray[np.float32], source: VectorFile
) -> None:
    filled = [row for row, text in enumerate(texts) if text.strip()][:_CHECKED_SENTENCES]
    if not filled:
        return
    now = encoder.embed([texts[row] for row in filled]).astype(np.float64)
    stored = vectors[filled].astype(np.float64)
    norms = np.sqrt((now * now).sum(axis=1) * (stored * stored).sum(axis=1))
    # A search knows nothing of sentences of unknown words, where `encode` may give them a vector.
    same = ((now * stored).sum(axis=1) >= _SAME_VECTOR * norms) | (norms == 0)
    if not same.all():
        raise ModelError(
            f"the encoder gives another vector for sentence {filled[int(np.argmin(same))] + 1}",
            path=source.path,
            remedy="give the encoder and the text that these vectors were made of, in the same order of lines",
        )


@dataclass(frozen=True)
class NearSentence:
    """A sentence that is near a query.

    Attributes:
        position: Its place in the input, from 1.
        sentence: Its text; None where only its vector is at hand.
    """

    score: float
    position: int
    sentence: str | None

    @property
    def key(self) -> str | int:
        """The same for sentences that are the same but for case and spacing; the position where there is no text."""
        return self.position if self.sentence is None else " ".join(self.sentence.lower().split())


class BestSentences:
    """Keeps for each query the k different sentences of the greatest cosine.

    Sentences that are the same but for case and spacing count once, and the query itself not at all; where there are
    vectors without texts, each counts. Of equal cosines the earlier sentence comes first.
    """

    def __init__(self, queries: Sequence[str], k: int) -> None:
        if k < 1:
            raise ValueError(f"k must be at least 1, not {k}")
        self.k = k
        self._own: list[int] = text_keys(list(queries)).tolist()
        # For each query: negative cosine, position and key, in this order; and the same by the key.
        self._ranked: list[list[tuple[float, int, int]]] = [[] for _ in queries]
        self._by_key: list[dict[int, tuple[float, int, int]]] = [{} for _ in queries]
        self._texts: list[dict[int, str]] = [{} for _ in queries]
        self._worst: NDArray[np.float64] = np.full(len(queries), -np.inf)

    def add(self, block: SentenceBlock) -> None:
        """Takes in the next sentences, whose positions are beyond those of earlier ones."""
        cosines = np.round(block.cosines, _DIGITS)
        for query in np.flatnonzero((cosines > self._worst[:, None]).any(axis=1)).tolist():
            self._add(query, block, cosines[query])

    def _add(self, query: int, block: SentenceBlock, scores: NDArray[np.float64]) -> None:
        ranked, by_key, texts = self._ranked[query], self._by_key[query], self._texts[query]
        places = np.flatnonzero(scores > self._worst[query])
        places = places[np.argsort(-scores[places], kind="stable")]
        for place in places.tolist():
            score, position = float(scores[place]), int(block.positions[place])
            if score <= self._worst[query]:
                break
            text = None if block.texts is None else block.texts[place]
            # Of vectors alone each stands for itself.
            key = -position if text is None else int(text_keys([text])[0])
            if text is not None and key == self._own[query]:
                continue
            entry = (-score, position, key)
            earlier = by_key.get(key)
            if earlier is not None:
                if earlier <= entry:
                    continue
                ranked.remove(earlier)
            elif len(ranked) == self.k:
                dropped = ranked.pop()
                del by_key[dropped[2]]
                texts.pop(dropped[2], None)
            insort(ranked, entry)
            by_key[key] = entry
            if text is not None:
                texts[key] = text
            if len(ranked) == self.k:
                self._worst[query] = -ranked[-1][0]

    def result(self) -> list[list[NearSentence]]:
        """Returns for each query what was found, the nearest first; fewer than k where there are no more."""
        return [
            [NearSentence(0.0 - score, position, texts.get(key)) for score, position, key in ranked]
            for ranked, texts in zip(self._ranked, self._texts, strict=True)
        ]

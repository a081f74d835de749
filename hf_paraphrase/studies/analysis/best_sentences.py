"""The sentences of a stream that are nearest to some queries, without holding the stream."""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...encoders.search.sentence_table import text_keys
from .sentence_blocks import SentenceBlock

_DIGITS = 6
"""Cosines that agree to so many decimals are equal: single precision holds no more of them."""


@dataclass(frozen=True)
class NearSentence:
    """A sentence that is near a query.

    Attributes:
        score: The cosine, rounded to six decimals.
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

    Args:
        queries: The queries.
        k: How many sentences of each.

    Raises:
        ValueError: If k is not positive.
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

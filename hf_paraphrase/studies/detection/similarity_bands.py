"""Sentences drawn at random from each band of the similarity to a query: what is in a bump of the distribution."""

from __future__ import annotations

from bisect import insort
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...encoders.search.sentence_table import text_keys
from ...filtering.tokens import tokenize
from .sentence_blocks import SentenceBlock

BANDS = 20
"""Equal bands of the cosine from −1 to 1, each 0.1 wide."""
DRAWN = 200
"""Sentences of a band from which the words that stand out are found."""
_FEWEST = 20
_LEAST_SHARE = 0.1
_LEAST_RATIO = 2.0


class BandSamples:
    """Draws some different sentences of each band, in one pass and without holding the others.

    Every sentence gets a random number from its position and the seed, and those of the least numbers are kept, so the
    draw does not depend on the sizes of the blocks.
    """

    def __init__(self, queries: int, count: int, seed: int = 0) -> None:
        self.count, self.seed = count, seed
        # For each query and band: random number, key, text, in this order.
        self._drawn: list[list[list[tuple[int, int, str]]]] = [[[] for _ in range(BANDS)] for _ in range(queries)]
        self._keys: list[list[set[int]]] = [[set() for _ in range(BANDS)] for _ in range(queries)]
        self._worst = np.full((queries, BANDS), np.iinfo(np.uint64).max, np.uint64)

    def add(self, block: SentenceBlock) -> None:
        """Takes in the next sentences; vectors without texts give no examples."""
        if block.texts is None or not self.count:
            return
        numbers = _scrambled(block.positions, self.seed)
        order = np.argsort(numbers, kind="stable")
        bands = ((block.cosines[: len(self._worst)] + 1.0) * (BANDS / 2.0)).astype(np.int64)
        bands = np.clip(bands, 0, BANDS - 1)
        for query, worst in enumerate(self._worst):
            low = numbers[order] < worst[bands[query, order]]
            for place in order[low].tolist():
                self._keep(query, int(bands[query, place]), int(numbers[place]), block.texts[place])

    def _keep(self, query: int, band: int, number: int, text: str) -> None:
        drawn, keys = self._drawn[query][band], self._keys[query][band]
        if len(drawn) == self.count and number >= drawn[-1][0]:
            return
        key = int(text_keys([text])[0])
        if key in keys:
            return
        if len(drawn) == self.count:
            keys.discard(drawn.pop()[1])
        insort(drawn, (number, key, text))
        keys.add(key)
        if len(drawn) == self.count:
            self._worst[query, band] = drawn[-1][0]

    def result(self, query: int) -> list[list[str]]:
        """Returns the sentences of each band for one query, from the band at −1 to that at 1."""
        return [[text for _, _, text in band] for band in self._drawn[query]]


@dataclass(frozen=True)
class MarkingWord:
    """A word that the sentences of a band have more often than all sentences.

    Attributes:
        share: The share of the band's sentences that have it.
        overall: The share of all sentences that have it.
    """

    word: str
    share: float
    overall: float


@dataclass(frozen=True)
class Band:
    """A band of the similarity to a query.

    Attributes:
        number: From 0, the band at −1.
        words: The words that stand out in it.
    """

    number: int
    low: float
    high: float
    sentences: int
    words: tuple[MarkingWord, ...]


def describe_bands(
    edges: NDArray[np.float64], counts: NDArray[np.int64], drawn: Sequence[Sequence[str]]
) -> list[Band]:
    """Describes the bands that have sentences, from that at −1 upwards.

    Args:
        edges: Their ends (bands + 1,).
        counts: How many sentences each has (bands,).
        drawn: Sentences drawn at random from each.
    """
    words = marking_words(drawn, counts)
    return [
        Band(number, round(float(edges[number]), 6), round(float(edges[number + 1]), 6), count, tuple(words[number]))
        for number, count in enumerate(counts.tolist())
        if count
    ]


def marking_words(bands: Sequence[Sequence[str]], counts: NDArray[np.int64], most: int = 4) -> list[list[MarkingWord]]:
    """Finds the words that stand out in each band: the paper's bump "mainly contains negated sentences".

    A word stands out if at least a tenth of the band's sentences have it, and at least twice the share of all
    sentences. Those are given for which share · log(share / overall) is the greatest.

    Args:
        bands: Sentences drawn at random from each band.
        counts: How many sentences each band has (bands,), for the shares of all sentences.
        most: How many words of a band.

    Returns:
        For each band its words; none where fewer than 20 sentences were drawn.
    """
    shares = [
        {word: count / len(texts) for word, count in Counter(w for text in texts for w in _words(text)).items()}
        for texts in bands
    ]
    overall: dict[str, float] = {}
    for share, count in zip(shares, counts.tolist(), strict=True):
        for word, value in share.items():
            overall[word] = overall.get(word, 0.0) + value * count / max(1, int(counts.sum()))
    words_by_band = []
    for texts, share in zip(bands, shares, strict=True):
        words = [
            MarkingWord(word, value, overall[word])
            for word, value in share.items()
            if len(texts) >= _FEWEST and value >= max(_LEAST_SHARE, _LEAST_RATIO * overall[word])
        ]
        words.sort(key=lambda item: (-item.share * float(np.log(item.share / item.overall)), item.word))
        words_by_band.append(words[:most])
    return words_by_band


def _words(text: str) -> set[str]:
    return {token for token in tokenize(text) if any(letter.isalnum() for letter in token)}


def _scrambled(positions: NDArray[np.int64], seed: int) -> NDArray[np.uint64]:
    """Computes a number for each position that looks random (Steele, Lea and Flood 2014, SplitMix64)."""
    step = np.uint64(0x9E3779B97F4A7C15)
    with np.errstate(over="ignore"):
        mixed = (positions.astype(np.uint64) + np.uint64(seed) * np.uint64(0xD1342543DE82EF95)) * step
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))

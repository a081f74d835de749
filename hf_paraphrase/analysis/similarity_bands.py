"""Sentences drawn at random from each band of the similarity to a query: what lies in a bump of the distribution."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..encoding.sentence_blocks import SentenceBlock
from ..encoding.sentence_table import text_keys

BANDS = 20
"""Equal bands of the cosine from −1 to 1, each 0.1 wide."""


class BandSamples:
    """Draws a few different sentences of each band, in one pass and without holding the others.

    Every sentence gets a random number from its position and the seed, and those of the least numbers are kept, so the
    draw does not depend on the sizes of the blocks.

    Args:
        queries: How many queries there are.
        count: How many sentences of each band to draw; 0 for none.
        seed: Seed of the draw.
    """

    def __init__(self, queries: int, count: int, seed: int = 0) -> None:
        self.count, self.seed = count, seed
        # For each query and band: random number, key, text, in this order.
        self._drawn: list[list[list[tuple[int, int, str]]]] = [[[] for _ in range(BANDS)] for _ in range(queries)]
        self._worst = np.full((queries, BANDS), np.iinfo(np.uint64).max, np.uint64)

    def add(self, block: SentenceBlock) -> None:
        """Takes in the next sentences; vectors without texts give no examples."""
        if block.texts is None or not self.count:
            return
        numbers = _scrambled(block.positions, self.seed)
        order = np.argsort(numbers, kind="stable")
        bands = np.clip(((block.cosines + 1.0) * (BANDS / 2.0)).astype(np.int64), 0, BANDS - 1)
        for query, worst in enumerate(self._worst):
            low = numbers[order] < worst[bands[query, order]]
            for place in order[low].tolist():
                self._keep(query, int(bands[query, place]), int(numbers[place]), block.texts[place])

    def _keep(self, query: int, band: int, number: int, text: str) -> None:
        drawn = self._drawn[query][band]
        if len(drawn) == self.count and number >= drawn[-1][0]:
            return
        key = int(text_keys([text])[0])
        if any(key == other for _, other, _ in drawn):
            return
        drawn.append((number, key, text))
        drawn.sort()
        del drawn[self.count :]
        if len(drawn) == self.count:
            self._worst[query, band] = drawn[-1][0]

    def result(self, query: int) -> list[list[str]]:
        """Returns the sentences of each band for one query, from the band at −1 to that at 1."""
        return [[text for _, _, text in band] for band in self._drawn[query]]


def _scrambled(positions: NDArray[np.int64], seed: int) -> NDArray[np.uint64]:
    """Computes a number for each position that looks random (Steele, Lea and Flood 2014, SplitMix64)."""
    step = np.uint64(0x9E3779B97F4A7C15)
    with np.errstate(over="ignore"):
        mixed = (positions.astype(np.uint64) + np.uint64(seed) * np.uint64(0xD1342543DE82EF95)) * step
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))

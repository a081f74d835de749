"""The noise of the sequential denoising autoencoder: words that are left out or masked, and neighbours that swap."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

NOISES = ("delete", "mask")


@dataclass(frozen=True)
class WordNoise:
    """Noise over the words of a sentence.

    `delete` is N(S | p_o, p_x) of Hill, Cho and Korhonen (2016), section 2: each word is deleted with probability p_o,
    independently of the others; then each of the bigrams that do not overlap (words 1 and 2, 3 and 4, …) is swapped
    with probability p_x. A sentence keeps one word at least.

    `mask` is what their code does: p_o · n of the n words, rounded (half to even) and drawn at random, become the
    unknown word; then p_x · n of the places between two words, rounded and drawn likewise, are gone through in the
    order of the draw, and the words on both sides swapped, so that a word can move on by more than one place.
    """

    kind: str
    drop: float
    swap: float
    unknown_id: int

    def __call__(self, words: NDArray[np.int32], generator: np.random.Generator) -> NDArray[np.int32]:
        """Makes a noisy copy of the ids of a sentence (words,): at least one if there was one, int32."""
        if not len(words):
            return words.copy()
        return self._deleted(words, generator) if self.kind == "delete" else self._masked(words, generator)

    def _deleted(self, words: NDArray[np.int32], generator: np.random.Generator) -> NDArray[np.int32]:
        kept = generator.random(len(words)) >= self.drop
        if not kept.any():
            kept[generator.integers(len(words))] = True
        noisy = words[kept]
        bigrams = noisy[: len(noisy) // 2 * 2].reshape(-1, 2)
        swapped = generator.random(len(bigrams)) < self.swap
        bigrams[swapped] = bigrams[swapped, ::-1]
        return noisy

    def _masked(self, words: NDArray[np.int32], generator: np.random.Generator) -> NDArray[np.int32]:
        count = len(words)
        noisy = words.copy()
        noisy[generator.permutation(count)[: _rounded(count, self.drop)]] = self.unknown_id
        for place in generator.permutation(count - 1)[: _rounded(count, self.swap)].tolist():
            noisy[place], noisy[place + 1] = noisy[place + 1], noisy[place]
        return noisy


def _rounded(count: int, share: float) -> int:
    return int(np.round(np.float32(count) * np.float32(share)))

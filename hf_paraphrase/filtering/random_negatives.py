"""Negatives by random pairing: sentences of different pairs put together."""

from __future__ import annotations

import numpy as np

_ROUNDS = 100
_DRAWING = 3
_BLOCK = 1 << 20


def random_negatives(
    first: np.ndarray,
    second: np.ndarray,
    seed: int,
    *,
    known: tuple[np.ndarray, np.ndarray] | None = None,
) -> np.ndarray:
    """Draws for every pair another second sentence, so that each sentence is used exactly once more.

    Sjöblom, Creutz and Aulamo (2018, section 3.2) pair sentences of the training data at random and accept that some
    of these pairs are paraphrases by accident. Here pairs that are known to be paraphrases (those of the data
    themselves, in either order, and identical sentences) are drawn again.

    Args:
        first: Keys of the first sentences (pairs,), uint64; equal sentences have equal keys.
        second: Keys of the second sentences (pairs,), uint64.
        seed: Of the draw.
        known: The keys of the first and of the second sentences (known pairs,) of more pairs that must not be drawn.

    Returns:
        For each pair the row of the second sentence it gets (pairs,), int64: a permutation.
    """
    generator = np.random.default_rng([seed, _DRAWING])
    rows = generator.permutation(len(first))
    pairs = [(first, second)] if known is None else [(first, second), known]
    positives = np.concatenate([_combined(*order) for one, two in pairs for order in ((one, two), (two, one))])
    positives.sort()
    # All rows are looked at once, in blocks, so that no further array of their number is needed.
    blocks = (np.arange(begin, min(begin + _BLOCK, len(rows))) for begin in range(0, len(rows), _BLOCK))
    wrong = np.concatenate([block[_known(block, first, second, rows, positives)] for block in blocks])
    for _ in range(_ROUNDS):
        if not len(wrong):
            return rows
        # Exchanging with rows drawn from all of them also moves rows that were good: look at those again.
        partners = generator.integers(len(first), size=len(wrong))
        for row, partner in zip(wrong, partners, strict=True):
            rows[row], rows[partner] = rows[partner], rows[row]
        moved = np.unique(np.concatenate([wrong, partners]))
        wrong = moved[_known(moved, first, second, rows, positives)]
    if not len(wrong):
        return rows
    raise ValueError(f"{len(first)} pairs have too few distinct sentences for random pairs")


def _known(
    chosen: np.ndarray, first: np.ndarray, second: np.ndarray, rows: np.ndarray, positives: np.ndarray
) -> np.ndarray:
    """Returns which of the chosen rows got the same sentence or one of their paraphrases: (chosen,), bool."""
    own, candidates = first[chosen], second[rows[chosen]]
    keys = _combined(own, candidates)
    places = np.minimum(np.searchsorted(positives, keys), len(positives) - 1)
    return (own == candidates) | (positives[places] == keys)


def _combined(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Mixes two keys into one, the order counting."""
    return (first * np.uint64(0x9E3779B97F4A7C15)) ^ (second + np.uint64(0x632BE59BD9B4E019))

"""The texts that the teachers take for the nearest to each."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...artefacts.files import written_whole
from ..search.nearest_neighbours import nearest_neighbours
from .teacher_vectors import TeacherVectors

_LARGEST_BLOCK = 50_000
"""Texts among which neighbours are looked for; the work grows with its square."""


def find_neighbours(
    vectors: TeacherVectors, k: int, *, seed: int = 0, block: int = _LARGEST_BLOCK
) -> NDArray[np.int32]:
    """Finds the k texts with the greatest cosines to each text, exactly among the texts of its block.

    Args:
        vectors: The vectors of the texts, more than `k`.
        k: How many neighbours.
        seed: Seed of the blocks: texts are dealt out at random where there are more than one.
        block: Texts in a block at most.

    Returns:
        The numbers of the neighbours (texts, k), the nearest first, never the text itself.
    """
    texts = len(vectors)
    neighbor_ids = np.zeros((texts, k), np.int32)
    blocks = max(1, -(-texts // max(block, k + 1)))
    for part in np.array_split(np.random.default_rng([seed, 3]).permutation(texts), blocks):
        numbers = np.sort(part)
        matrix = vectors.take(numbers)
        rows, _ = nearest_neighbours(matrix, matrix, k + 1)
        itself = rows == np.arange(len(numbers))[:, None]
        # Among equal vectors a text may not be among its own nearest: the last of the list goes then.
        itself[~itself.any(1), -1] = True
        neighbor_ids[numbers] = numbers[rows[~itself].reshape(len(numbers), k)]
    return neighbor_ids


def kept_neighbours(file: Path, vectors: TeacherVectors, k: int, *, seed: int) -> NDArray[np.int32]:
    """Reads the neighbours that an earlier run has found, or finds them and keeps them for a later one."""
    if file.is_file():
        return np.load(file, mmap_mode="r", allow_pickle=False)
    neighbor_ids = find_neighbours(vectors, k, seed=seed)
    with written_whole(file) as temporary, temporary.open("wb") as stream:
        np.save(stream, neighbor_ids)
    return neighbor_ids

"""Bags of items as sparse count matrices, and the cosines of their rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


def count_matrix(bags: Sequence[Sequence[str]], vocabulary: dict[str, int]) -> csr_matrix:
    """Counts the items of each bag.

    Args:
        bags: n bags of items.
        vocabulary: The column of each item; unseen items are added to it.

    Returns:
        A matrix (n, number of items) of float64 counts.
    """
    from scipy.sparse import csr_matrix

    columns = [vocabulary.setdefault(item, len(vocabulary)) for bag in bags for item in bag]
    starts = np.concatenate([[0], np.cumsum([len(bag) for bag in bags], dtype=np.int64)])
    matrix = csr_matrix((np.ones(len(columns)), columns, starts), shape=(len(bags), max(1, len(vocabulary))))
    matrix.sum_duplicates()
    return matrix


def bag_cosines(
    bags1: Sequence[Sequence[str]], bags2: Sequence[Sequence[str]], weights: Mapping[str, float] | None = None
) -> np.ndarray:
    """Computes the cosine between the weighted count vectors of each pair of bags.

    Args:
        bags1: n bags of items.
        bags2: n bags of items.
        weights: Factor for each item's count; 1 for an item that is not in it.

    Returns:
        Similarities (n,), float64; 0 where a bag is empty.
    """
    vocabulary: dict[str, int] = {}
    first, second = count_matrix(bags1, vocabulary), count_matrix(bags2, vocabulary)
    first.resize(second.shape)
    if weights is not None:
        factors = np.ones(max(1, len(vocabulary)))
        for item, column in vocabulary.items():
            factors[column] = weights.get(item, 1.0)
        for matrix in (first, second):
            matrix.data *= factors[matrix.indices]
    products = np.asarray(first.multiply(second).sum(axis=1)).ravel()
    squares = [np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel() for matrix in (first, second)]
    norms = np.sqrt(squares[0] * squares[1])
    return np.divide(products, norms, out=np.zeros_like(products), where=norms > 0)

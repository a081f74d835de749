"""Exact nearest neighbours by cosine."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError, UsageError
from ...settings import check_count
from ..vectors import normalized
from .vector_file import VectorFile


def nearest_neighbours(
    queries: NDArray[np.float32],
    corpus: NDArray[np.float32] | VectorFile,
    k: int,
    *,
    query_block: int = 1024,
    corpus_block: int = 16_384,
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Finds the k vectors of a corpus with the greatest cosine to each query.

    All cosines are computed, in blocks of a matrix product, so memory stays at one block whatever the corpus. Of
    equal cosines the earlier row comes first; a zero vector has cosine 0 with everything.

    Args:
        queries: float32 (queries, dim).
        corpus: float32 (rows, dim); a file of vectors, or a memory-mapped array, is read block by block.
        k: How many neighbours; fewer are given if the corpus is smaller.
        query_block: Queries in a block.
        corpus_block: Corpus rows in a block.

    Returns:
        The rows of the neighbours (queries, k), int64, the nearest first, and their cosines (queries, k), float32.
    """
    check_count("k", k)
    if queries.ndim != 2 or corpus.ndim != 2 or queries.shape[1] != corpus.shape[1]:
        raise UsageError(
            f"queries {queries.shape} and corpus {corpus.shape} must be matrices of one dimension",
            remedy="give a row for each text, all from one encoder",
        )
    k = min(k, len(corpus))
    rows = np.zeros((len(queries), k), np.int64)
    cosines = np.zeros((len(queries), k), np.float32)
    for first in range(0, len(queries), query_block):
        block = normalized(np.asarray(queries[first : first + query_block], np.float32))
        best_rows = np.zeros((len(block), 0), np.int64)
        best = np.zeros((len(block), 0), np.float32)
        for start in range(0, len(corpus), corpus_block):
            part = normalized(np.asarray(corpus[start : start + corpus_block], np.float32))
            similarity = block @ part.T
            # What is not a number in a row of the corpus gives NaN as its cosine to any query.
            if not np.isfinite(similarity[0]).all():
                raise InputError(
                    "it holds vectors with NaN or infinity", path=getattr(corpus, "path", None), remedy="re-create it"
                )
            places = _greatest(similarity, k)
            best_rows = np.concatenate([best_rows, places + start], axis=1)
            best = np.concatenate([best, np.take_along_axis(similarity, places, 1)], axis=1)
            # Stable, and earlier rows stand first, so ties keep the order of the corpus.
            order = np.argsort(-best, axis=1, kind="stable")[:, :k]
            best_rows = np.take_along_axis(best_rows, order, 1)
            best = np.take_along_axis(best, order, 1)
        rows[first : first + len(block)] = best_rows
        cosines[first : first + len(block)] = best
    return rows, cosines


def _greatest(values: NDArray[np.float32], k: int) -> NDArray[np.int64]:
    """Finds the places (rows, min(k, columns)) of the greatest values of each row, ascending, ties to the left."""
    columns = values.shape[1]
    if k >= columns:
        return np.tile(np.arange(columns), (len(values), 1))
    threshold = np.partition(values, columns - k, axis=1)[:, columns - k, None]
    above = values > threshold
    # Of the values that equal the smallest one needed, the leftmost fill up what is missing.
    equal = values == threshold
    missing = k - above.sum(1, keepdims=True)
    chosen = above | (equal & (equal.cumsum(1) <= missing))
    return np.nonzero(chosen)[1].reshape(len(values), k)

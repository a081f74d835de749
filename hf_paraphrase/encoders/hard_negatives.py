"""Hard negatives: for each pair the sentences of other pairs that an encoder takes for nearest to its first one."""

from __future__ import annotations

import os
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from ..data.pair_rows import PairRows, PairSource
from ..errors import InputError
from ..messages import log
from .search.nearest_neighbours import nearest_neighbours

if TYPE_CHECKING:
    from datasets import Dataset

_MORE = 32
"""Neighbours that are searched beside those wanted: related sentences stand among the nearest."""


def mine_hard_negatives(pairs: PairSource, encoder: Any, *, count: int = 1, share: float = 0.95) -> Dataset:
    """Adds columns of hard negatives, `negative_1` and so on, to pairs.

    A sentence is no negative of a pair if it stands in a pair with one of its two sentences, or if its cosine with the
    first one is above a share of the pair's own: it may be a paraphrase that nobody listed. Missing ones are None.

    Args:
        pairs: The pairs, see :class:`~..data.pair_rows.PairRows`.
        encoder: Any encoder with `encode`, or the name of one.
        count: How many negatives a pair gets at most.
        share: The greatest cosine of a negative with the first sentence, as a share of that of the pair.
    """
    from datasets import Dataset

    return Dataset(with_hard_negatives(pairs, encoder, count=count, share=share))


def with_hard_negatives(
    pairs: PairSource,
    encoder: Any,
    *,
    count: int = 1,
    share: float = 0.95,
    max_pairs: int | None = None,
    seed: int = 0,
) -> pa.Table:
    """Does what :func:`mine_hard_negatives` does with all pairs, or a sample, and returns a table."""
    from .sentence_encoder import SentenceEncoder

    if isinstance(encoder, str | os.PathLike):
        encoder = SentenceEncoder.from_pretrained(encoder)
    rows = PairRows(pairs)
    blocks = [batch for _, batch in rows.batches(rows.columns, max_pairs=max_pairs, seed=seed)]
    if not blocks:
        raise InputError("the data set has no pairs", path=rows.path, remedy="give pairs of sentences")
    table = pa.Table.from_batches(blocks)
    sides: tuple[list[str], list[str]] = [], []
    for block in blocks:
        for every, texts in zip(sides, rows.texts(block), strict=True):
            every += texts
    related: dict[str, set[str]] = defaultdict(set)
    for first, second in zip(*sides, strict=True):
        related[first] |= {first, second}
        related[second] |= {first, second}
    queries, corpus = list(dict.fromkeys(sides[0])), list(dict.fromkeys(sides[1]))
    query_vectors, corpus_vectors = encoder.encode(queries), encoder.encode(corpus)
    nearest, cosines = nearest_neighbours(query_vectors, corpus_vectors, count + _MORE)
    place = {text: number for number, text in enumerate(queries)}
    columns: list[list[str | None]] = [[] for _ in range(count)]
    own_cosines = _cosines(query_vectors, corpus_vectors, *sides, queries, corpus)
    for first, second, own in zip(*sides, own_cosines, strict=True):
        found: list[str | None] = []
        for number, cosine in zip(nearest[place[first]], cosines[place[first]], strict=True):
            text = corpus[number]
            if number >= 0 and cosine <= share * own and text not in related[first] | related[second]:
                found.append(text)
        found += [None] * count
        for column, negative in zip(columns, found, strict=False):
            column.append(negative)
    log(f"hard negatives: {sum(text is not None for text in columns[0])} of {len(table)} pairs have one")
    used = [int(name.rpartition("_")[2]) for name in rows.negatives if name.rpartition("_")[2].isdigit()]
    for number, column in enumerate(columns, max(used, default=0) + 1):
        table = table.append_column(f"negative_{number}", pa.array(column, pa.string()))
    return table


def _cosines(
    query_vectors: Any, corpus_vectors: Any, first: list[str], second: list[str], queries: list[str], corpus: list[str]
) -> np.ndarray:
    """Computes the cosine of each pair (pairs,)."""
    query_of, row_of = ({text: number for number, text in enumerate(texts)} for texts in (queries, corpus))
    one = np.asarray(query_vectors)[[query_of[text] for text in first]]
    other = np.asarray(corpus_vectors)[[row_of[text] for text in second]]
    norms = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
    return np.divide((one * other).sum(1), norms, out=np.zeros(len(one), one.dtype), where=norms > 0)

"""Hard negatives: for each pair the sentences of other pairs that an encoder takes for nearest to its first one."""

from __future__ import annotations

import os
from collections import defaultdict
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from ..data.pair_rows import PairRows, PairSource
from ..errors import InputError
from ..messages import log
from .search.nearest_neighbours import nearest_neighbours
from .sentence_encoder import SentenceEncoder
from .vectors import normalized

if TYPE_CHECKING:
    from datasets import Dataset

_MORE = 32
"""Neighbours that are searched beside those wanted: related sentences stand among the nearest."""


def mine_hard_negatives(
    pairs: PairSource,
    encoder: Any,
    *,
    count: int = 1,
    share: float = 0.95,
    max_pairs: int | None = None,
    seed: int = 0,
) -> Dataset:
    """Adds columns of hard negatives, `negative_1` and so on, to pairs.

    A sentence is no negative of a pair if it stands in a pair with one of its two sentences, or if its cosine with the
    first one is above a share of the pair's own: it may be a paraphrase that nobody listed. Missing ones are None.

    A pair gets `count` negatives at most, by any encoder with `encode`, or the name of one. `share` is the greatest
    cosine of a negative, as a share of that of the pair, and `max_pairs` the size of a random sample of the pairs.
    """
    from datasets import Dataset

    if isinstance(encoder, str | os.PathLike):
        encoder = SentenceEncoder.from_pretrained(encoder)
    rows = PairRows(pairs)
    blocks = [batch for _, batch in rows.batches(rows.columns, max_pairs=max_pairs, seed=seed)]
    if not blocks:
        raise InputError("the data set has no pairs", path=rows.path, remedy="give pairs of sentences")
    table = pa.Table.from_batches(blocks)
    first, second = (list(chain.from_iterable(side)) for side in zip(*map(rows.texts, blocks), strict=True))
    related: dict[str, set[str]] = defaultdict(set)
    for pair in zip(first, second, strict=True):
        for text in pair:
            related[text].update(pair)
    (queries, query_of), (corpus, row_of) = (
        np.unique(np.array(side, object), return_inverse=True) for side in (first, second)
    )
    query_vectors, corpus_vectors = (normalized(encoder.encode(side.tolist())) for side in (queries, corpus))
    nearest, cosines = nearest_neighbours(query_vectors, corpus_vectors, count + _MORE)
    limits = share * (query_vectors[query_of] * corpus_vectors[row_of]).sum(1)
    columns: list[list[str | None]] = [[] for _ in range(count)]
    for one, other, query, limit in zip(first, second, query_of, limits, strict=True):
        excluded = related[one] | related[other]
        texts = corpus[nearest[query][(nearest[query] >= 0) & (cosines[query] <= limit)]].tolist()
        found = [text for text in texts if text not in excluded]
        for column, negative in zip(columns, [*found, *[None] * count], strict=False):
            column.append(negative)
    log(f"hard negatives: {sum(text is not None for text in columns[0])} of {len(table)} pairs have one")
    used = [int(name.rpartition("_")[2]) for name in rows.negatives if name.rpartition("_")[2].isdigit()]
    for number, column in enumerate(columns, max(used, default=0) + 1):
        table = table.append_column(f"negative_{number}", pa.array(column, pa.string()))
    return Dataset(table)

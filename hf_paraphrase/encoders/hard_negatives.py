"""Hard negatives: for each pair the sentence of another pair that an encoder takes for nearest to its first one."""

from __future__ import annotations

import os
from collections import defaultdict
from itertools import chain, count
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

_NEIGHBOURS = 33
"""So many are searched, because related sentences stand among the nearest."""
_SHARE = 0.95
"""The greatest cosine of a negative, as a share of that of the pair."""


def mine_hard_negatives(pairs: PairSource, encoder: Any, *, max_pairs: int | None = None, seed: int = 0) -> Dataset:
    """Adds a column with a hard negative of each pair, `negative_1`, or the next number, to pairs.

    It is the sentence that is nearest to the first one, by any encoder with `encode`, or the name of one. No negative
    of a pair is a sentence that stands in a pair with one of its two sentences, or whose cosine with the first one is
    above 95 % of the pair's own: it may be a paraphrase that nobody listed. A missing one is None. `max_pairs` is the
    size of a random sample of the pairs.
    """
    from datasets import Dataset

    if isinstance(encoder, str | os.PathLike):
        encoder = SentenceEncoder.from_pretrained(encoder)
    rows = PairRows(pairs)
    blocks = [batch for _, batch in rows.batches(rows.columns, max_pairs=max_pairs, seed=seed)]
    if not blocks:
        raise InputError("the data set has no pairs", path=rows.path, remedy="give pairs of sentences")
    first, second = (list(chain.from_iterable(side)) for side in zip(*map(rows.texts, blocks), strict=True))
    related: dict[str, set[str]] = defaultdict(set)
    for pair in zip(first, second, strict=True):
        for text in pair:
            related[text].update(pair)
    (queries, query_of), (corpus, row_of) = (
        np.unique(np.array(side, object), return_inverse=True) for side in (first, second)
    )
    query_vectors, corpus_vectors = (normalized(encoder.encode(side.tolist())) for side in (queries, corpus))
    nearest, cosines = nearest_neighbours(query_vectors, corpus_vectors, _NEIGHBOURS)
    limits = _SHARE * (query_vectors[query_of] * corpus_vectors[row_of]).sum(1)
    negatives: list[str | None] = []
    for one, other, query, limit in zip(first, second, query_of, limits, strict=True):
        excluded = related[one] | related[other]
        texts = corpus[nearest[query][(nearest[query] >= 0) & (cosines[query] <= limit)]].tolist()
        negatives.append(next((text for text in texts if text not in excluded), None))
    log(f"hard negatives: {sum(text is not None for text in negatives)} of {len(negatives)} pairs have one")
    number = next(number for number in count(1) if f"negative_{number}" not in rows.columns)
    return Dataset(pa.Table.from_batches(blocks).append_column(f"negative_{number}", pa.array(negatives, pa.string())))

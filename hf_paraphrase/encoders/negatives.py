"""Negatives: searched in a batch (Wieting et al. 2017, equation 5), or hard negatives of all pairs."""

from __future__ import annotations

import os
from collections import defaultdict
from itertools import chain, count
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..data.pair_rows import PairRows, PairSource
from ..data.schema import with_binary_labels
from ..messages import log
from ..settings import Option
from ..vectors.exact_search import find_nearest
from ..vectors.similarity import check_counts, unit_rows
from .sentence_encoder import SentenceEncoder

if TYPE_CHECKING:
    from datasets import Dataset

NO_NEGATIVE = -1
"""The index of a sentence without an admissible negative."""
_BLOCK_CELLS = 1 << 22
"""Maximum number of cosines in memory (16 MiB in float32), or one row of them."""
_NUM_CANDIDATES = 33
"""The number of nearest sentences to search for one hard negative."""


def normalize_rows(vectors: Tensor) -> Tensor:
    """Divide each row (…, dim) by its Euclidean norm; a zero row stays zero and gets no gradient."""
    norms = torch.linalg.vector_norm(vectors, dim=-1, keepdim=True)
    empty = norms == 0
    return torch.where(empty, torch.zeros_like(vectors), vectors / norms.masked_fill(empty, 1.0))


class PairGroups:
    """The related sentences of each sentence of a batch.

    A sentence is related to both texts of its pair, to both texts of every other pair with one of these two texts, as
    in n-best lists, and to every occurrence of these texts.

    Args:
        keys: A key of each text (sentences,), equal for equal texts: of the first sentences of the pairs, of their
            partners in the same order, and of any further sentences.
        pairs: The number of pairs.
    """

    def __init__(self, keys: NDArray[np.int64], pairs: int) -> None:
        self.pairs, self.num_sentences = pairs, len(keys)
        texts, self._texts = np.unique(keys, return_inverse=True)
        self._has_duplicates = len(texts) < len(keys)
        if self._has_duplicates:
            from scipy.sparse import csr_array

            ones = np.ones(len(keys), np.float32)
            own, every = self._texts[: 2 * pairs], np.arange(len(keys))
            cells = np.tile(np.arange(pairs), 2), own
            self._texts_of_pairs = csr_array((ones[: 2 * pairs], cells), shape=(pairs, len(texts)))
            self._occurrences = csr_array((ones, (self._texts, every)), shape=(len(texts), len(keys)))

    def related(self, begin: int, end: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """List the relations of sentences `begin` to `end`: offsets from `begin`, and rows of related sentences."""
        pairs = np.arange(begin, end) % self.pairs
        if not self._has_duplicates:
            return np.repeat(np.arange(end - begin), 2), np.stack([pairs, pairs + self.pairs], 1).ravel()
        siblings = self._texts_of_pairs[pairs] @ self._texts_of_pairs.T
        links = (siblings @ self._texts_of_pairs @ self._occurrences).tocoo()
        return links.row.astype(np.int64), links.col.astype(np.int64)

    def admissible(self, rows: range, device: torch.device, *, negatives_from: str = "both") -> Tensor:
        """Return which sentences may be the negative of the sentences `rows`, bool (rows, sentences).

        These are the unrelated sentences: with `both`, first and second ones (the reference code); with `opposite`,
        only second ones for a first and vice versa (Wieting and Gimpel 2017). Further sentences count as second ones.
        """
        admissible = torch.ones(len(rows), self.num_sentences, dtype=torch.bool, device=device)
        row, related = self.related(rows.start, rows.stop)
        admissible.view(-1)[torch.from_numpy(row * self.num_sentences + related).to(device)] = False
        if negatives_from == "opposite":
            is_second = torch.arange(self.num_sentences, device=device) >= self.pairs
            admissible &= is_second[rows.start : rows.stop].unsqueeze(1) != is_second
        return admissible


@torch.no_grad()
def choose_negatives(
    vectors: Tensor,
    keys: NDArray[np.int64],
    *,
    pairs: int | None = None,
    negatives_from: str = "both",
    rows: range | None = None,
) -> Tensor:
    """Choose the negative of every sentence: the admissible sentence of maximum cosine (Wieting et al. 2017, eq. 5).

    `vectors` (sentences, dim) and `keys` are in the order of :class:`PairGroups`; `pairs` defaults to no further
    sentences, and `rows` to all sentences of pairs. Returns indices among the sentences (rows,), int64, or
    :data:`NO_NEGATIVE`.
    """
    groups = PairGroups(keys, len(keys) // 2 if pairs is None else pairs)
    rows = range(2 * groups.pairs) if rows is None else rows
    unit = normalize_rows(vectors)
    chosen = torch.empty(len(rows), dtype=torch.int64, device=vectors.device)
    step = max(1, _BLOCK_CELLS // max(1, len(keys)))
    for begin in range(rows.start, rows.stop, step):
        end = min(begin + step, rows.stop)
        admissible = groups.admissible(range(begin, end), vectors.device, negatives_from=negatives_from)
        nearest = (unit[begin:end] @ unit.T).masked_fill_(~admissible, -torch.inf).argmax(1)
        chosen[begin - rows.start : end - rows.start] = nearest.masked_fill(~admissible.any(1), NO_NEGATIVE)
    return chosen


def mine_hard_negatives(
    pairs: PairSource,
    encoder: Any,
    *,
    range_min: int = 0,
    range_max: int | None = None,
    max_score: float | None = None,
    min_score: float | None = None,
    absolute_margin: float | None = None,
    relative_margin: float | None = 0.05,
    num_negatives: int = 1,
    max_pairs: int | None = None,
    seed: int = 0,
) -> Dataset:
    """Add columns with hard negatives of each pair: the sentences that are nearest to its first sentence.

    Sentences that share a pair with one of the two sentences are no negatives. The options have the meaning of
    `sentence_transformers.util.mine_hard_negatives`.

    Args:
        pairs: The pairs.
        encoder: Any encoder with `encode`, or the name of one.
        range_min: Number of nearest candidates to skip.
        range_max: Rank of the last candidate; None for as many as are searched.
        max_score: Maximum cosine of a negative.
        min_score: Minimum cosine of a negative.
        absolute_margin: Maximum cosine of a negative, as a difference below the cosine of the pair.
        relative_margin: Maximum cosine of a negative, as a fraction below the cosine of the pair: 0.05 allows 95 % of
            it. A more similar sentence may be an unlisted paraphrase.
        num_negatives: Number of negatives per pair.
        max_pairs: Size of a random sample of the pairs.
        seed: Seed of the sample.

    Returns:
        The pairs with the columns `negative_1` to `negative_n`, or the next free numbers; None for a missing negative.
    """
    from datasets import Dataset

    check_counts(num_negatives=num_negatives, **({} if max_pairs is None else {"max_pairs": max_pairs}))
    Option(at_least=0).check("range_min", range_min)
    Option(above=range_min).check("range_max", range_max)
    limits_of = {"max_score": max_score, "min_score": min_score, "absolute_margin": absolute_margin}
    for name, value in {**limits_of, "relative_margin": relative_margin}.items():
        Option().check(name, value)
    if isinstance(encoder, str | os.PathLike):
        encoder = SentenceEncoder.from_pretrained(encoder)
    rows = PairRows(pairs)
    blocks = [batch for _, batch in rows.batches(rows.columns, max_pairs=max_pairs, seed=seed)]
    if rows.label in rows.rows.class_names:  # the losses read numbers
        blocks = [with_binary_labels(batch, rows.label, rows.labels.read(batch[rows.label])) for batch in blocks]
    first, second = (list(chain.from_iterable(side)) for side in zip(*map(rows.texts, blocks), strict=True))
    related: dict[str, set[str]] = defaultdict(set)
    for pair in zip(first, second, strict=True):
        for text in pair:
            related[text].update(pair)
    (queries, query_of), (corpus, row_of) = (
        np.unique(np.array(side, object), return_inverse=True) for side in (first, second)
    )
    query_vectors, corpus_vectors = (unit_rows(encoder.encode(side.tolist())) for side in (queries, corpus))
    # The nearest sentences include related ones.
    num_candidates = max(range_max or 0, range_min + num_negatives + _NUM_CANDIDATES - 1)
    nearest, cosines = find_nearest(query_vectors, corpus_vectors, num_candidates)
    own = (query_vectors[query_of] * corpus_vectors[row_of]).sum(1)
    limits = np.full(len(own), np.inf if max_score is None else max_score)
    limits = limits if absolute_margin is None else np.minimum(limits, own - absolute_margin)
    # For a negative cosine a fraction of it would be larger.
    limits = limits if relative_margin is None else np.minimum(limits, (1 - relative_margin) * own)
    lowest = -np.inf if min_score is None else min_score
    negatives: list[list[str | None]] = []
    for one, other, query, limit in zip(first, second, query_of, limits, strict=True):
        excluded = related[one] | related[other]
        candidates = [
            (text, cosine)
            for text, row, cosine in zip(corpus[nearest[query]].tolist(), nearest[query], cosines[query], strict=True)
            if row >= 0 and text not in excluded
        ][range_min:range_max]
        texts = [text for text, cosine in candidates if lowest <= cosine <= limit][:num_negatives]
        negatives.append([*texts, *[None] * (num_negatives - len(texts))])
    log(f"hard negatives: {sum(row[0] is not None for row in negatives)} of {len(negatives)} pairs have one")
    table = pa.Table.from_batches(blocks)
    free = (f"negative_{number}" for number in count(1) if f"negative_{number}" not in rows.columns)
    for column, name in zip(zip(*negatives, strict=True), free, strict=False):
        table = table.append_column(name, pa.array(column, pa.string()))
    return Dataset(table)

"""Nearest neighbours and paraphrases among texts in memory.

For a corpus that is searched more than once, or does not fit in memory: :class:`.index.SearchIndex`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from tqdm.auto import tqdm

from ..errors import UsageError
from ..tokenization.fast_tokenize import list_of_texts
from ..vectors.exact_search import Pairs, find_nearest, keep_best_pairs
from ..vectors.similarity import as_array, check_counts, exact_unit_rows

if TYPE_CHECKING:
    import torch

    Embeddings = NDArray[np.floating] | torch.Tensor


def semantic_search(
    query_embeddings: Embeddings,
    corpus_embeddings: Embeddings,
    query_chunk_size: int = 1024,
    corpus_chunk_size: int = 4096,
    top_k: int = 10,
) -> list[list[dict[str, Any]]]:
    """Find, for each query, the `top_k` embeddings of a corpus with the highest cosine; fewer if there are fewer.

    Both are arrays or tensors (texts, dim), or (dim,) for one query, which are compared in chunks.

    Returns:
        For each query a list, the highest cosine first, of a row of the corpus, `corpus_id`, and the cosine, `score`.
    """
    check_counts(query_chunk_size=query_chunk_size, corpus_chunk_size=corpus_chunk_size, top_k=top_k)
    names = ("query_embeddings", "corpus_embeddings")
    queries, corpus = map(_as_array, names, (query_embeddings, corpus_embeddings))
    rows, cosines = find_nearest(
        np.atleast_2d(queries),
        corpus,
        top_k,
        names=names,
        query_block=query_chunk_size,
        corpus_block=corpus_chunk_size,
    )
    return [
        [{"corpus_id": row, "score": cosine} for row, cosine in zip(*neighbors, strict=True)]
        for neighbors in zip(rows.tolist(), cosines.tolist(), strict=True)
    ]


def paraphrase_mining(
    model: Any,
    sentences: Sequence[str],
    show_progress_bar: bool = False,
    batch_size: int = 256,
    query_chunk_size: int = 1024,
    corpus_chunk_size: int = 4096,
    max_pairs: int = 500_000,
    top_k: int = 100,
    **options: Any,
) -> list[tuple[float, int, int]]:
    """Find the most similar pairs of sentences, from the nearest neighbours of each sentence.

    `model` is a :class:`~..sentence_encoder.SentenceEncoder`; its `encode` gets `batch_size` and further options. The
    `top_k` nearest sentences of each are considered, compared in chunks as by :func:`semantic_search`.

    Returns:
        Tuples (cosine, index of the earlier sentence, index of the later sentence), the highest cosine first.
    """
    check_counts(
        query_chunk_size=query_chunk_size, corpus_chunk_size=corpus_chunk_size, max_pairs=max_pairs, top_k=top_k
    )
    if isinstance(sentences, str):
        raise UsageError(f"the sentences are one string, {sentences!r}", remedy="give a list of sentences")
    options = {**options, "batch_size": batch_size, "show_progress_bar": show_progress_bar}
    encoded = model.encode(list_of_texts(sentences), **options)
    vectors = exact_unit_rows(_as_array("embeddings", encoded), "embeddings").astype(np.float32)

    def pairs() -> Iterator[Pairs]:
        starts = range(0, len(vectors), query_chunk_size)
        for start in tqdm(starts, desc="compare", unit=" blocks", disable=not show_progress_bar):
            queries = vectors[start : start + query_chunk_size]
            rows, cosines = find_nearest(queries, vectors, top_k + 1, corpus_block=corpus_chunk_size)
            own = np.arange(start, start + len(queries))[:, None]
            others = rows != own
            yield np.minimum(rows, own)[others], np.maximum(rows, own)[others], cosines[others]

    # Most pairs come twice, once for each of their sentences.
    mined = keep_best_pairs(pairs(), 2 * max_pairs)
    _, firsts = np.unique(mined.first * len(vectors) + mined.second, return_index=True)
    firsts = np.sort(firsts)[:max_pairs]
    columns = (mined.scores[firsts], mined.first[firsts], mined.second[firsts])
    return list(zip(*(column.tolist() for column in columns), strict=True))


def _as_array(name: str, vectors: Embeddings) -> NDArray[np.float32]:
    """Return embeddings as an array; refuse what is not numbers."""
    try:
        return as_array(vectors).astype(np.float32, copy=False)
    except (TypeError, ValueError) as error:
        what = f"{name} is not an array of numbers: {error}"
        raise UsageError(what, remedy="embed texts by encode() first") from error

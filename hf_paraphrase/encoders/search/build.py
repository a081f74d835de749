"""Builds an index folder from a stream of sentences, in memory that does not grow with their number."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ...data.arrow_arrays import int64_array, text_array
from ...data.folder import write_split
from ...errors import InputError, ModelError, UsageError
from ..known_texts import KnownTexts
from ..sentence_encoder import SentenceEncoder
from .index import KEYS_FILE, VECTORS_FILE, IndexSettings
from .inverted_lists import InvertedLists, default_lists, default_probes, write_lists
from .nearest_neighbours import nearest_neighbours
from .sentence_table import ROWS_PER_GROUP, SENTENCES, RepeatedTexts, text_keys
from .vector_file import NpyWriter, VectorFile

_RECALL_QUERIES = 200
_RECALL_NEIGHBOURS = 10


@dataclass(frozen=True)
class IndexOptions:
    """How an index is built.

    Attributes:
        approximate: Whether to make inverted lists as well.
        lists: How many; None for a number that fits the corpus.
        probes: How many of them a query reads by default; None for a number that fits the lists.
        keep_repeated: Whether a sentence that comes several times is kept as often.
        batch_size: Sentences in a padded batch of the encoder.
        seed: Seed of the centroids.
    """

    approximate: bool = False
    lists: int | None = None
    probes: int | None = None
    keep_repeated: bool = False
    batch_size: int = 256
    seed: int = 0


@dataclass
class IndexCounts:
    """What came in.

    Attributes:
        empty: Those without any character but space, which are left out.
        repeated: Those that had been there before, which are left out unless they are kept.
        zero: Sentences in the index without a word in the encoder's vocabulary.
    """

    sentences: int = 0
    empty: int = 0
    repeated: int = 0
    zero: int = 0


@dataclass
class BuiltIndex:
    """What :func:`build_index` made.

    Attributes:
        settings: As the folder says.
        counts: What came in.
    """

    settings: IndexSettings
    counts: IndexCounts = field(default_factory=IndexCounts)


def build_index(
    encoder: SentenceEncoder,
    blocks: Iterable[list[str | None]],
    folder: Path,
    options: IndexOptions | None = None,
    *,
    progress: Callable[[int], object] = lambda sentences: None,
    place_progress: Callable[[int], object] = lambda rows: None,
) -> BuiltIndex:
    """Encodes sentences and writes all parts of an index folder but the encoder, the card and the provenance.

    Args:
        encoder: The encoder.
        blocks: The sentences in blocks of any size; None and empty texts are left out.
        folder: An existing folder.
        options: How to build it.
        progress: Called with the number of sentences that were read.
        place_progress: Called with the number of vectors that were put into lists.
    """
    options = options or IndexOptions()
    counts = IndexCounts()
    keys: list[NDArray[np.uint64]] = []
    with NpyWriter(folder / VECTORS_FILE, encoder.dimension) as writer:
        rows = _encoded(encoder, blocks, options, counts, writer, keys, progress)
        write_split(folder, "train", rows, SENTENCES, repeating=())
    size = writer.rows
    if not size:
        raise InputError("the corpus contains no sentences", remedy="give one sentence a line")
    if counts.zero == size:
        raise InputError(
            f"no word of the {size:,} sentences is in the encoder's vocabulary",
            remedy="give text in the language and the script that the encoder was trained on",
        )
    np.save(folder / KEYS_FILE, np.concatenate(keys))
    settings = IndexSettings(rows=size, dimension=encoder.dimension, zero_rows=counts.zero)
    if options.approximate:
        settings = _with_lists(folder, settings, options, place_progress)
    settings.write(folder)
    return BuiltIndex(settings, counts)


def _encoded(
    encoder: SentenceEncoder,
    blocks: Iterable[list[str | None]],
    options: IndexOptions,
    counts: IndexCounts,
    writer: NpyWriter,
    keys: list[NDArray[np.uint64]],
    progress: Callable[[int], object],
) -> Iterator[pa.Table]:
    """Writes vectors and gives the rows of the table of sentences, in groups of one size."""
    embedder, repeated = KnownTexts(encoder), RepeatedTexts()
    waiting = pa.Table.from_batches([], SENTENCES)
    for block in blocks:
        position = np.arange(counts.sentences, counts.sentences + len(block)) + 1
        counts.sentences += len(block)
        filled = np.array([text is not None and bool(text.strip()) for text in block], bool)
        counts.empty += int((~filled).sum())
        texts = [text for text, kept in zip(block, filled.tolist(), strict=True) if kept and text is not None]
        fresh = repeated.new(texts)
        counts.repeated += int((~fresh).sum())
        if not options.keep_repeated:
            texts = [text for text, kept in zip(texts, fresh.tolist(), strict=True) if kept]
            filled[filled] = fresh
        if texts:
            vectors = embedder.embed(texts, batch_size=options.batch_size)
            _check_finite(vectors)
            counts.zero += int((~vectors.any(axis=1)).sum())
            writer.write(vectors)
            keys.append(text_keys(texts))
            table = pa.table({"sentence": text_array(texts), "position": int64_array(position[filled])})
            waiting = pa.concat_tables([waiting, table.cast(SENTENCES)])
        whole = waiting.num_rows - waiting.num_rows % ROWS_PER_GROUP
        for first in range(0, whole, ROWS_PER_GROUP):
            yield waiting.slice(first, ROWS_PER_GROUP).combine_chunks()
        waiting = waiting.slice(whole).combine_chunks()
        progress(len(block))
    if waiting.num_rows:
        yield waiting


def _check_finite(vectors: NDArray[np.float32]) -> None:
    bad = int((~np.isfinite(vectors).all(axis=1)).sum())
    if bad:
        raise ModelError(f"the encoder gave vectors with NaN or infinity for {bad} of {len(vectors)} sentences")


def _with_lists(
    folder: Path, settings: IndexSettings, options: IndexOptions, progress: Callable[[int], object]
) -> IndexSettings:
    """Adds the lists and measures how much of the truth they find."""
    lists = default_lists(settings.rows) if options.lists is None else options.lists
    if not 1 <= lists <= settings.rows:
        raise UsageError(f"{lists} lists do not fit {settings.rows} sentences", remedy="give fewer lists, at least 1")
    probes = default_probes(lists) if options.probes is None else options.probes
    if not 1 <= probes <= lists:
        raise UsageError(f"{probes} of {lists} lists cannot be read", remedy="give fewer probes, at least 1")
    vectors = VectorFile(folder / VECTORS_FILE)
    write_lists(vectors, folder, lists=lists, seed=options.seed, progress=progress)
    inverted_lists = InvertedLists(folder, rows=settings.rows, dimension=settings.dimension)
    recall = measure_recall(vectors, inverted_lists, probes)
    return IndexSettings(
        settings.rows, settings.dimension, settings.zero_rows, lists=lists, probes=probes, recall=recall
    )


def measure_recall(
    vectors: VectorFile,
    lists: InvertedLists,
    probes: int,
    *,
    k: int = _RECALL_NEIGHBOURS,
    queries: int = _RECALL_QUERIES,
) -> float:
    """Computes the share of the true k nearest neighbours that an approximate search finds.

    Queries are vectors of the corpus at equal distances; their own rows do not count. A row whose cosine equals that
    of the k-th neighbour up to rounding is as good as that one.

    Args:
        vectors: The vectors (rows, dim).
        lists: Their inverted lists.
        probes: How many lists a query reads.
        k: How many neighbours; all there are, where there are fewer.
        queries: How many queries.

    Returns:
        The mean over the queries, from 0 to 1; 1 where no query has a neighbour.
    """
    own = np.unique(np.linspace(0, len(vectors) - 1, queries).astype(np.int64))
    sample = vectors.take(own)
    own, sample = own[sample.any(axis=1)], sample[sample.any(axis=1)]
    k = min(k, len(vectors) - 1)
    if not k or not len(own):
        return 1.0
    _, cosines = nearest_neighbours(sample, vectors, k + 1)
    rows, _ = lists.search(sample, k + 1, probes)
    shares = []
    for number, query, true, neighbor_rows in zip(own.tolist(), sample, cosines, rows, strict=True):
        # The query itself is the nearest, or one of several that are equal to it.
        border = float(true[k]) - 1e-5
        others = neighbor_rows[(neighbor_rows >= 0) & (neighbor_rows != number)]
        good = int((vectors.take(others) @ query >= border).sum())
        shares.append(min(good, k) / k)
    return float(np.mean(shares))

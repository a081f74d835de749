"""Builds an index folder from a stream of sentences, in memory that does not grow with their vectors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import xxhash
from numpy.typing import NDArray

from ...data.arrow_arrays import int64_array, text_array
from ...data.folder import write_split
from ...errors import InputError, ModelError, UsageError
from ..known_texts import KnownTexts
from ..sentence_encoder import SentenceEncoder
from .approximate import LISTS_FILE, InvertedLists, default_lists, default_probes, write_lists
from .nearest_neighbours import nearest_neighbours
from .stored_index import KEYS_FILE, SENTENCES, VECTORS_FILE, IndexSettings, StoredIndex, text_keys
from .vector_file import NpyWriter, VectorFile

_ROWS_PER_GROUP = 10_000
_RECALL_QUERIES = 200
_RECALL_NEIGHBOURS = 10


def build_index(
    encoder: SentenceEncoder,
    blocks: Iterable[list[str | None]],
    folder: Path,
    *,
    approximate: bool = False,
    lists: int | None = None,
    probes: int | None = None,
    seed: int = 0,
    keep_repeated: bool = False,
    batch_size: int = 256,
    earlier: StoredIndex | None = None,
    without: NDArray[np.bool_] | None = None,
    progress: Callable[[int], object] = lambda sentences: None,
    place_progress: Callable[[int], object] = lambda rows: None,
) -> IndexSettings:
    """Encodes sentences and writes all parts of an index folder but the encoder, the card and the provenance.

    Args:
        encoder: The encoder.
        blocks: The sentences in blocks of any size; None and empty texts are left out.
        folder: An existing folder.
        approximate: Whether to make inverted lists as well.
        lists: How many; None for a number that fits the corpus.
        probes: How many of them a query reads by default; None for a number that fits the lists.
        seed: Seed of the centroids of the lists.
        keep_repeated: Whether a sentence that comes several times is kept as often.
        batch_size: Sentences in a padded batch of the encoder.
        earlier: An index of the same encoder, whose sentences come first and are not encoded again.
        without: Which of its rows are left out (rows,).
        progress: Called with the number of sentences that were read.
        place_progress: Called with the number of vectors that were put into lists.
    """
    builder = _Builder(encoder, keep_repeated, batch_size)
    with NpyWriter(folder / VECTORS_FILE, encoder.dimension) as writer:
        tables = builder.tables(blocks, writer, progress, earlier, without)
        write_split(folder, "train", _regrouped(tables), SENTENCES, repeating=())
    settings = IndexSettings(writer.rows, encoder.dimension, **builder.counts)
    if not settings.rows:
        raise InputError("the corpus contains no sentences", remedy="give one sentence a line")
    if settings.zero_rows == settings.rows:
        raise InputError(
            f"no word of the {settings.rows:,} sentences is in the encoder's vocabulary",
            remedy="give text in the language and the script that the encoder was trained on",
        )
    np.save(folder / KEYS_FILE, np.concatenate(builder.keys))
    if earlier is not None and earlier.settings.lists:
        settings = replace(settings, lists=earlier.settings.lists, probes=earlier.settings.probes)
    elif approximate:
        settings = _with_lists(settings, lists, probes)
    if settings.lists:
        vectors = VectorFile(folder / VECTORS_FILE)
        trained = None if earlier is None else earlier.folder / LISTS_FILE
        path = folder / LISTS_FILE
        write_lists(vectors, path, lists=settings.lists, seed=seed, trained=trained, progress=place_progress)
        recall = measure_recall(vectors, InvertedLists(path, vectors), settings.probes)
        settings = replace(settings, recall=recall)
    settings.write(folder)
    return settings


class _Builder:
    """Counts, keys and vectors of the sentences of an index that is being built."""

    def __init__(self, encoder: SentenceEncoder, keep_repeated: bool, batch_size: int) -> None:
        self.counts = Counter(read=0, empty=0, repeated=0, zero_rows=0)
        self.keys: list[NDArray[np.uint64]] = []
        self._embedder = KnownTexts(encoder)
        # Of a million texts two different ones share 64 bits with a probability of 3e-8.
        self._seen: set[int] = set()
        self._keep_repeated, self._batch_size = keep_repeated, batch_size

    def tables(
        self,
        blocks: Iterable[list[str | None]],
        writer: NpyWriter,
        progress: Callable[[int], object],
        earlier: StoredIndex | None,
        without: NDArray[np.bool_] | None,
    ) -> Iterator[pa.Table]:
        """Writes vectors and gives the rows of the table of sentences."""
        if earlier is not None:
            yield from self._earlier_tables(earlier, without, writer)
        for block in blocks:
            rows = []
            for position, text in enumerate(block, self.counts["read"] + 1):
                if text is None or not text.strip():
                    self.counts["empty"] += 1
                elif self._is_new(text) or self._keep_repeated:
                    rows.append((text, position))
            self.counts["read"] += len(block)
            if rows:
                texts = [text for text, _ in rows]
                vectors = self._embedder.embed(texts, batch_size=self._batch_size)
                if bad := int((~np.isfinite(vectors).all(axis=1)).sum()):
                    raise ModelError(f"the encoder gave vectors with NaN or infinity for {bad} of {len(texts)} texts")
                self._add(writer, vectors, text_keys(texts))
                positions = np.array([position for _, position in rows])
                yield pa.table({"sentence": text_array(texts), "position": int64_array(positions)})
            progress(len(block))

    def _is_new(self, text: str) -> bool:
        key = xxhash.xxh3_64_intdigest(text.encode())
        is_new = key not in self._seen
        self._seen.add(key)
        self.counts["repeated"] += not is_new
        return is_new

    def _earlier_tables(
        self, earlier: StoredIndex, without: NDArray[np.bool_] | None, writer: NpyWriter
    ) -> Iterator[pa.Table]:
        before = earlier.settings
        # Version 0.1 did not store how many were read.
        read = before.read or earlier.sentences["position"][-1].as_py()
        kept = np.arange(len(earlier)) if without is None else np.flatnonzero(~without)
        for start in range(0, len(kept), _ROWS_PER_GROUP):
            rows = kept[start : start + _ROWS_PER_GROUP]
            table = earlier.sentences_of(rows)
            for text in table["sentence"].to_pylist():
                self._is_new(text)
            self._add(writer, earlier.vectors.take(rows), earlier.keys[rows])
            yield table
        self.counts.update(read=read, empty=before.empty)
        self.counts["repeated"] = before.repeated

    def _add(self, writer: NpyWriter, vectors: NDArray[np.float32], keys: NDArray[np.uint64]) -> None:
        self.counts["zero_rows"] += int((~vectors.any(axis=1)).sum())
        writer.write(vectors)
        self.keys.append(keys)


def _regrouped(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """Gives the rows in groups of one size, so that the blocks of the input change no byte of the output."""
    # `empty_table` would import pandas.
    waiting = pa.Table.from_batches([], SENTENCES)
    for table in tables:
        waiting = pa.concat_tables([waiting, table.cast(SENTENCES)])
        whole = waiting.num_rows - waiting.num_rows % _ROWS_PER_GROUP
        for first in range(0, whole, _ROWS_PER_GROUP):
            yield waiting.slice(first, _ROWS_PER_GROUP).combine_chunks()
        waiting = waiting.slice(whole).combine_chunks()
    if waiting.num_rows:
        yield waiting


def _with_lists(settings: IndexSettings, lists: int | None, probes: int | None) -> IndexSettings:
    """Decides how many lists there are, and how many a query reads."""
    lists = default_lists(settings.rows) if lists is None else lists
    if not 1 <= lists <= settings.rows:
        raise UsageError(f"{lists} lists do not fit {settings.rows} sentences", remedy="give fewer lists, at least 1")
    probes = default_probes(lists) if probes is None else probes
    if not 1 <= probes <= lists:
        raise UsageError(f"{probes} of {lists} lists cannot be read", remedy="give fewer probes, at least 1")
    return replace(settings, lists=lists, probes=probes)


def measure_recall(vectors: VectorFile, lists: InvertedLists, probes: int) -> float:
    """Computes the share of the true ten nearest neighbours that an approximate search finds (0 to 1).

    Queries are 200 vectors of the corpus. A row whose cosine equals that of the tenth neighbour is as good as it.
    """
    own = np.unique(np.linspace(0, len(vectors) - 1, _RECALL_QUERIES).astype(np.int64))
    sample = vectors.take(own)
    own, sample = own[sample.any(axis=1)], sample[sample.any(axis=1)]
    k = min(_RECALL_NEIGHBOURS, len(vectors) - 1)
    if not k or not len(own):
        return 1.0
    _, true_cosines = nearest_neighbours(sample, vectors, k + 1)
    rows, cosines = lists.search(sample, k + 1, probes)
    # The query itself is the nearest, or one of several that are equal to it.
    good = (rows >= 0) & (rows != own[:, None]) & (cosines >= true_cosines[:, k, None] - 1e-5)
    return float(np.mean(np.minimum(good.sum(axis=1), k) / k))

"""Builds an index folder from a stream of sentences, in memory that does not grow with their vectors."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from itertools import chain
from pathlib import Path

import numpy as np
import pyarrow as pa
import xxhash
from numpy.typing import NDArray

from ...artefacts.files import read_json_object
from ...data.arrow_arrays import int64_array, text_array
from ...data.folder import DataFolder, write_split
from ...errors import InputError, ModelError
from ..known_texts import KnownTexts
from ..sentence_encoder import SentenceEncoder
from .approximate import LISTS_FILE, InvertedLists, default_lists, default_probes, write_lists
from .nearest_neighbours import nearest_neighbours
from .vector_file import NpyWriter, VectorFile, npy_writer

SENTENCES = pa.schema([("sentence", pa.string()), ("position", pa.int64())])
"""A corpus: each sentence, and its place in the input, from 1."""
SETTINGS_FILE = "index.json"
VECTORS_FILE = "vectors.npy"
_FORMAT = 1
_ROWS_PER_GROUP = 10_000
_RECALL_QUERIES = 200
_RECALL_NEIGHBOURS = 10


@dataclass(frozen=True)
class IndexSettings:
    """The settings stored in an index folder.

    Attributes:
        zero_rows: Sentences without a word in the encoder's vocabulary, with zero vectors; no search finds them.
        lists: The number of inverted lists; 0 for an index that is searched exactly only.
        probes: How many of them a query reads by default.
        recall: The share of the true ten nearest neighbours that the lists find, measured on a sample when the index
            was built; None without lists.
        read: How many sentences were read so far; 0 in a folder of version 0.1.
        empty: How many of them had no character but space, and were left out.
        repeated: How many of them had been there before.
    """

    rows: int
    dimension: int
    zero_rows: int
    lists: int = 0
    probes: int = 0
    recall: float | None = None
    format: int = _FORMAT
    read: int = 0
    empty: int = 0
    repeated: int = 0

    @classmethod
    def read_from(cls, folder: Path) -> IndexSettings:
        """Reads `index.json`."""
        path, remedy = folder / SETTINGS_FILE, "make one with hf-paraphrase search --model … --corpus … --output …"
        if not path.exists():
            what = f"not an index folder: it has no {SETTINGS_FILE}" if folder.exists() else "no such index folder"
            raise InputError(what, path=folder, remedy=remedy)
        try:
            return cls(**read_json_object(path))
        except TypeError as error:
            raise InputError(f"damaged: {error}", path=path, remedy=remedy) from error


class StoredIndex:
    """What an index folder holds but its encoder: the sentences in memory, the vectors mapped."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.reopen()

    def reopen(self) -> None:
        """Reads the folder again, after it has changed."""
        self.settings = IndexSettings.read_from(self.folder)
        self.vectors = VectorFile(self.folder / VECTORS_FILE)
        # Of many chunks a few rows are not taken without copying all.
        self.sentences = DataFolder(self.folder).table(columns=SENTENCES.names).combine_chunks()
        expected = (self.settings.rows, self.settings.dimension)
        if self.vectors.shape != expected or len(self.sentences) != self.settings.rows:
            what = f"{len(self.sentences)} sentences and vectors of shape {self.vectors.shape}, where {expected} is"
            raise InputError(f"{what} expected", path=self.folder, remedy="build the index again")

    def __len__(self) -> int:
        return self.settings.rows

    def sentences_of(self, rows: NDArray[np.int64]) -> pa.Table:
        """Takes some rows (rows,) in their order, with the columns `sentence` and `position`."""
        return self.sentences.take(int64_array(rows))


def text_keys(texts: list[str]) -> NDArray[np.uint64]:
    """Computes a number for each text, the same for texts that differ in case and spacing only (texts,)."""
    plain = (" ".join(text.lower().split()).encode() for text in texts)
    return np.fromiter(map(xxhash.xxh3_64_intdigest, plain), np.uint64, len(texts))


def build_index(
    encoder: SentenceEncoder,
    blocks: Iterable[list[str | None]],
    folder: Path,
    *,
    approximate: bool = False,
    seed: int = 0,
    keep_repeated: bool = False,
    batch_size: int = 256,
    earlier: StoredIndex | None = None,
    without: NDArray[np.bool_] | None = None,
    progress: Callable[[int], object] = lambda sentences: None,
) -> IndexSettings:
    """Encodes sentences and writes all parts of an index folder but the encoder, the card and the provenance.

    Args:
        encoder: The encoder.
        blocks: The sentences in blocks of any size; None and empty texts are left out.
        folder: An existing folder.
        approximate: Whether to make inverted lists as well.
        seed: Seed of the centroids of the lists.
        keep_repeated: Whether a sentence that comes several times is kept as often.
        batch_size: Sentences in a padded batch of the encoder.
        earlier: An index of the same encoder, whose sentences come first and are not encoded again.
        without: Which of its rows are left out (rows,).
        progress: Called with the number of sentences that were read.
    """
    with npy_writer(folder / VECTORS_FILE, encoder.dimension) as writer:
        builder = _Builder(encoder, writer, keep_repeated, batch_size)
        known = () if earlier is None else builder.earlier_tables(earlier, without)
        write_split(folder, "train", chain(known, builder.tables(blocks, progress)), SENTENCES, repeating=())
    settings = IndexSettings(writer.rows, encoder.dimension, **builder.counts)
    if not settings.rows:
        raise InputError("the corpus contains no sentences", remedy="give one sentence a line")
    if settings.zero_rows == settings.rows:
        raise InputError(
            f"no word of the {settings.rows:,} sentences is in the encoder's vocabulary",
            remedy="give text in the language and the script that the encoder was trained on",
        )
    if approximate or (earlier is not None and earlier.settings.lists):
        vectors, path = VectorFile(folder / VECTORS_FILE), folder / LISTS_FILE
        lists = default_lists(settings.rows)
        write_lists(vectors, path, lists=lists, seed=seed)
        probes = default_probes(lists)
        recall = measure_recall(vectors, InvertedLists(path, vectors), probes)
        settings = replace(settings, lists=lists, probes=probes, recall=recall)
    (folder / SETTINGS_FILE).write_text(json.dumps(asdict(settings), indent=2) + "\n", encoding="utf-8")
    return settings


class _Builder:
    """Counts the sentences of an index that is being built, and writes their vectors."""

    def __init__(self, encoder: SentenceEncoder, writer: NpyWriter, keep_repeated: bool, batch_size: int) -> None:
        self.counts = Counter(read=0, empty=0, repeated=0, zero_rows=0)
        self._embedder, self._writer = KnownTexts(encoder), writer
        # Of a million texts two different ones share 64 bits with a probability of 3e-8.
        self._seen: set[int] = set()
        self._keep_repeated, self._batch_size = keep_repeated, batch_size

    def tables(self, blocks: Iterable[list[str | None]], progress: Callable[[int], object]) -> Iterator[pa.Table]:
        """Encodes sentences and gives the rows of the table of sentences."""
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
                self._write(vectors)
                positions = np.array([position for _, position in rows])
                yield pa.table({"sentence": text_array(texts), "position": int64_array(positions)}).cast(SENTENCES)
            progress(len(block))

    def earlier_tables(self, earlier: StoredIndex, without: NDArray[np.bool_] | None) -> Iterator[pa.Table]:
        """Takes over the rows of an index, but those that are left out."""
        kept = np.arange(len(earlier)) if without is None else np.flatnonzero(~without)
        for start in range(0, len(kept), _ROWS_PER_GROUP):
            rows = kept[start : start + _ROWS_PER_GROUP]
            table = earlier.sentences_of(rows)
            for text in table["sentence"].to_pylist():
                self._is_new(text)
            self._write(earlier.vectors.take(rows))
            yield table
        before = earlier.settings
        # Version 0.1 did not store how many were read.
        self.counts["read"] = before.read or earlier.sentences["position"][-1].as_py()
        self.counts["empty"], self.counts["repeated"] = before.empty, before.repeated

    def _is_new(self, text: str) -> bool:
        key = xxhash.xxh3_64_intdigest(text.encode())
        is_new = key not in self._seen
        self._seen.add(key)
        self.counts["repeated"] += not is_new
        return is_new

    def _write(self, vectors: NDArray[np.float32]) -> None:
        self.counts["zero_rows"] += int((~vectors.any(axis=1)).sum())
        self._writer.write(vectors)


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

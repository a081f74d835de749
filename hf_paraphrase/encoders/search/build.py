"""Builds an index folder from a stream of sentences, in memory that does not grow with their vectors."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ...artefacts.files import read_json_object
from ...data.folder import write_split
from ...data.schema import int64_array
from ...errors import InputError, ModelError
from ..known_texts import KnownTexts
from ..sentence_encoder import SentenceEncoder
from ..vectors import NpyWriter, npy_writer, open_vectors
from .approximate import LISTS_FILE, build_lists

SENTENCES = pa.schema([("sentence", pa.string()), ("position", pa.int64())])
"""A corpus: each sentence, and its place in the input, from 1; other columns of the input come after them."""
SETTINGS_FILE = "index.json"
VECTORS_FILE = "vectors.npy"
_ROWS_PER_GROUP = 10_000


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
    format: int = 1
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


class EarlierIndex(Protocol):
    """What is taken over of a :class:`~.index.SearchIndex`."""

    settings: IndexSettings
    vectors: NDArray[np.float32]
    sentences: pa.Table

    def sentences_of(self, rows: NDArray[np.int64]) -> pa.Table: ...  # noqa: D102


def text_keys(texts: Iterable[str]) -> NDArray[np.int64]:
    """Computes a number for each text, the same for texts that differ in case and spacing only (texts,).

    It is another one in another process. Of a million texts two different ones share it with a probability of 3e-8.
    """
    return np.array([hash(" ".join(text.lower().split())) for text in texts], np.int64)


def build_index(
    encoder: SentenceEncoder,
    blocks: Iterable[pa.Table | list[str | None]],
    folder: Path,
    *,
    approximate: bool = False,
    keep_repeated: bool = False,
    batch_size: int = 256,
    earlier: EarlierIndex | None = None,
    without: NDArray[np.bool_] | None = None,
    progress: Callable[[int], object] = lambda sentences: None,
) -> IndexSettings:
    """Encodes sentences and writes all parts of an index folder but the encoder, the card and the provenance.

    Args:
        encoder: The encoder.
        blocks: The sentences in blocks of any size, or tables whose column `sentence` holds them; None and empty
            texts are left out. The other columns of the first table are kept.
        folder: An existing folder.
        approximate: Whether to make inverted lists as well.
        keep_repeated: Whether a sentence that comes several times is kept as often.
        batch_size: Sentences in a padded batch of the encoder.
        earlier: An index of the same encoder, whose sentences come first and are not encoded again; its columns are
            those that are kept.
        without: Which of its rows are left out (rows,).
        progress: Called with the number of sentences that were read.
    """
    with npy_writer(folder / VECTORS_FILE, encoder.dimension) as writer:
        builder = _Builder(encoder, writer, keep_repeated, batch_size)
        known = () if earlier is None else builder.earlier_tables(earlier, without)
        tables = chain(known, builder.tables(blocks, progress))
        if (first := next(tables, None)) is None:
            raise InputError("the corpus contains no sentences", remedy="give one sentence a line")
        write_split(folder, "train", chain([first], tables), first.schema, repeating=())
    settings = IndexSettings(writer.rows, encoder.dimension, **builder.counts)
    if settings.zero_rows == settings.rows:
        raise InputError(
            f"no word of the {settings.rows:,} sentences is in the encoder's vocabulary",
            remedy="give text in the language and the script that the encoder was trained on",
        )
    if approximate or (earlier is not None and earlier.settings.lists):
        lists, probes, recall = build_lists(open_vectors(folder / VECTORS_FILE), folder / LISTS_FILE)
        settings = replace(settings, lists=lists, probes=probes, recall=recall)
    (folder / SETTINGS_FILE).write_text(json.dumps(asdict(settings), indent=2) + "\n", encoding="utf-8")
    return settings


class _Builder:
    """Counts the sentences of an index that is being built, and writes their vectors."""

    def __init__(self, encoder: SentenceEncoder, writer: NpyWriter, keep_repeated: bool, batch_size: int) -> None:
        self.counts = Counter(read=0, empty=0, repeated=0, zero_rows=0)
        self._embedder, self._writer = KnownTexts(encoder), writer
        self._seen: set[int] = set()
        self._keep_repeated, self._batch_size = keep_repeated, batch_size
        self._schema: pa.Schema | None = None

    def tables(
        self, blocks: Iterable[pa.Table | list[str | None]], progress: Callable[[int], object]
    ) -> Iterator[pa.Table]:
        """Encodes sentences and gives the rows of the table of sentences."""
        for block in blocks:
            given = block if isinstance(block, pa.Table) else pa.table({"sentence": pa.array(block, pa.string())})
            texts = given["sentence"].to_pylist()
            kept = np.flatnonzero([self._is_kept(text) for text in texts])
            if len(kept):
                rows = given.take(int64_array(kept))
                vectors = self._embedder.embed([texts[place] for place in kept], batch_size=self._batch_size)
                if bad := int((~np.isfinite(vectors).all(axis=1)).sum()):
                    raise ModelError(f"the encoder gave vectors with NaN or infinity for {bad} of {len(kept)} texts")
                positions = int64_array(kept + self.counts["read"] + 1)
                others = {name: rows[name] for name in rows.column_names if name not in SENTENCES.names}
                yield self._written(pa.table({"sentence": rows["sentence"], "position": positions, **others}), vectors)
            self.counts["read"] += len(texts)
            progress(len(texts))

    def earlier_tables(self, earlier: EarlierIndex, without: NDArray[np.bool_] | None) -> Iterator[pa.Table]:
        """Takes over the rows of an index, but those that are left out."""
        kept = np.arange(len(earlier.vectors)) if without is None else np.flatnonzero(~without)
        for start in range(0, len(kept), _ROWS_PER_GROUP):
            rows = kept[start : start + _ROWS_PER_GROUP]
            table = earlier.sentences_of(rows)
            self._seen.update(map(hash, table["sentence"].to_pylist()))
            yield self._written(table, earlier.vectors[rows])
        before = earlier.settings
        # Version 0.1 did not store how many were read.
        self.counts["read"] = before.read or earlier.sentences["position"][-1].as_py()
        self.counts["empty"], self.counts["repeated"] = before.empty, before.repeated

    def _is_kept(self, text: str | None) -> bool:
        if text is None or not text.strip():
            self.counts["empty"] += 1
            return False
        key = hash(text)
        is_repeated = key in self._seen
        self._seen.add(key)
        self.counts["repeated"] += is_repeated
        return self._keep_repeated or not is_repeated

    def _written(self, table: pa.Table, vectors: NDArray[np.float32]) -> pa.Table:
        """Writes the vectors of a table, and gives it the columns of the first one; those that it lacks are null."""
        self.counts["zero_rows"] += int((~vectors.any(axis=1)).sum())
        self._writer.write(vectors)
        if self._schema is None:
            self._schema = pa.schema([*SENTENCES, *list(table.schema)[len(SENTENCES) :]])
        columns = []
        for field in self._schema:
            is_missing = field.name not in table.schema.names
            column = pa.nulls(len(table), field.type) if is_missing else table[field.name]
            try:
                columns.append(column.cast(field.type))
            except pa.ArrowException as error:
                what = f"the column {field.name} holds {column.type}, in the index it holds {field.type}"
                raise InputError(what, remedy="give columns of the same types, or build the index again") from error
        return pa.table(columns, schema=self._schema)

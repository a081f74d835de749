"""Writing of an index: new segments from texts, merged segments from old ones, and the card."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..artefacts.cards import Card
from ..artefacts.provenance import inherited_metadata
from ..data.batch_function import Progress, no_progress
from ..errors import InputError, UsageError
from ..text.hashing import are_among
from ..text.normalization import is_blank
from ..vectors.faiss_index import measure_recall
from .manifest import SEGMENTS_FOLDER, SegmentEntry
from .segments import KEYS, POSITION, SENTENCE, Segment, SegmentWriter, conform, row_keys, with_columns
from .snapshot import Snapshot

if TYPE_CHECKING:
    from ..encoders.search_embedder import SearchEmbedder
    from .manifest import Manifest

Blocks = Iterable[pa.Table | list[str | None]]
_ROWS_PER_BATCH = 10_000
_RECALL_QUERIES = 200


def new_segment_folder(folder: Path) -> Path:
    """Return the next numbered folder of a segment; the writer holds the lock of the index.

    The newest segment is never removed before a newer one exists, so no number is used twice.
    """
    segments = folder / SEGMENTS_FOLDER
    numbers = [int(path.name) for path in segments.glob("*") if path.name.isdecimal()]
    return segments / f"{max(numbers, default=-1) + 1:06d}"


class RowBuilder:
    """Encodes the rows of an index and decides which are left out.

    Args:
        embedder: The encoder of the index, for documents.
        earlier: The rows of the index.
        unique: Leave out a row whose text repeats an earlier text except for case and spacing.
        keep_repeated: Keep rows that repeat an earlier row in all columns.
        batch_size: Sentences in a padded batch of the encoder.
        progress: Called with the number of sentences that were read.
    """

    def __init__(
        self,
        embedder: SearchEmbedder,
        earlier: Snapshot | None = None,
        *,
        unique: bool = False,
        keep_repeated: bool = False,
        batch_size: int = 256,
        progress: Progress = no_progress,
    ) -> None:
        self.counts = Counter(read=earlier.manifest.read if earlier else 0, empty=0, repeated=0)
        self._embedder, self._earlier, self._progress = embedder, earlier, progress
        self._kind, self._keep_repeated, self._batch_size = "text" if unique else "row", keep_repeated, batch_size
        self._schema = None if earlier is None else earlier.schema
        self._seen: set[int] = set()
        self._keys: dict[str, list[NDArray[np.uint64]]] = {"row": [], "id": []}

    def write(self, blocks: Blocks, writer: SegmentWriter) -> None:
        """Writes the rows of lists of texts, or of tables with a column `sentence`, to a segment."""
        for block in blocks:
            given = block if isinstance(block, pa.Table) else pa.table({SENTENCE: pa.array(block, pa.string())})
            texts = given[SENTENCE].to_pylist()
            shown = np.flatnonzero([text is not None and not is_blank(text) for text in texts])
            self.counts["empty"] += len(texts) - len(shown)
            rows = given.take(pa.array(shown))
            positions = pa.array(shown + self.counts["read"] + 1)
            rows = rows.drop_columns([POSITION]) if POSITION in rows.column_names else rows
            rows = self._conformed(rows.append_column(POSITION, positions))
            keys = row_keys(rows)
            for name, parts in self._keys.items():
                parts.append(keys[name])
            kept = np.flatnonzero(self._are_new(keys[self._kind]))
            self.counts["repeated"] += len(rows) - len(kept)
            if len(kept):
                vectors = self._embedder.embed([texts[row] for row in shown[kept]], batch_size=self._batch_size)
                writer.write(rows.take(pa.array(kept)), vectors, {name: keys[name][kept] for name in KEYS})
            self.counts["read"] += len(texts)
            self._progress(len(texts))

    def _conformed(self, rows: pa.Table) -> pa.Table:
        rows = conform(rows, self._schema)
        if not self._keys["row"]:
            self._names = rows.column_names
            self._schema = rows.schema if self._schema is None else pa.unify_schemas([self._schema, rows.schema])
        if rows.column_names != self._names:
            what = f"the columns {', '.join(rows.column_names)} follow rows with the columns {', '.join(self._names)}"
            raise InputError(what, remedy="give all rows the same columns")
        return rows

    def _are_new(self, keys: NDArray[np.uint64]) -> NDArray[np.bool_]:
        if self._keep_repeated:
            return np.ones(len(keys), bool)
        new = np.zeros(len(keys), bool)
        if self._earlier is not None:
            known = np.unique(self._earlier.find(self._kind, keys)[1])
            new = are_among(keys, known)
        for row, key in enumerate(keys.tolist()):
            new[row] = not new[row] and key not in self._seen
            self._seen.add(key)
        return new

    def replaced_rows(self) -> NDArray[np.int64]:
        """Returns the earlier rows whose id came again with other values, ascending."""
        if self._earlier is None or not self._keys["id"]:
            return np.empty(0, np.int64)
        keys = {name: np.concatenate(parts) for name, parts in self._keys.items()}
        same_id, _ = self._earlier.find("id", keys["id"])
        unchanged, _ = self._earlier.find("row", keys["row"])
        return np.setdiff1d(same_id, unchanged)

    def with_recall(self, entry: SegmentEntry, folder: Path, manifest: Manifest) -> SegmentEntry:
        """Measures what an approximate index finds, by queries that are no rows: the first halves of some texts."""
        segment = Segment(folder, replace(entry, recall=0.0), manifest.dimension)
        approximate = segment.approximate(manifest.method)
        assert approximate is not None
        rows = np.unique(np.linspace(0, entry.rows - 1, _RECALL_QUERIES).astype(np.int64))
        texts = chain.from_iterable(batch.column(SENTENCE).to_pylist() for batch in segment.take(rows))
        words = [text.split() for text in texts]
        queries = self._embedder.embed([" ".join(each[: (len(each) + 1) // 2]) for each in words])
        return replace(entry, recall=measure_recall(approximate, segment.vectors, queries))


def merged_segment(snapshot: Snapshot, first: int, folder: Path, method: str) -> SegmentEntry:
    """Writes the rows of the segments from `first` on, without the removed ones, into one new segment."""
    with SegmentWriter(folder, snapshot.manifest.dimension) as writer:
        for segment in snapshot.segments[first:]:
            keys = {name: segment.keys(name) for name in KEYS}
            rows = segment.live_rows()
            for start in range(0, len(rows), _ROWS_PER_BATCH):
                part = rows[start : start + _ROWS_PER_BATCH]
                table = pa.concat_tables(with_columns(batch, snapshot.schema) for batch in segment.take(part))
                writer.write(table, segment.vectors[part], {name: key[part] for name, key in keys.items()})
        return writer.finish(method, is_first=first == 0)


def tail_to_merge(entries: Sequence[SegmentEntry]) -> int:
    """Returns the first segment of those at the end that are merged, so that their number grows with the logarithm.

    A segment is merged with the next one if that is as large or if half of its rows are removed.
    """
    first, rows = len(entries) - 1, entries[-1].live_rows
    if 2 * entries[-1].num_removed > entries[-1].rows:
        rows = entries[-1].rows
    while first > 0 and entries[first - 1].live_rows <= rows:
        first -= 1
        rows += entries[first].live_rows
    for number, entry in enumerate(entries):
        if 2 * entry.num_removed > entry.rows:
            return min(number, first)
    return first


def card_of_index(manifest: Manifest, inputs: Sequence[Path]) -> Card:
    """Makes the card of an index; licences and languages come from the cards of the inputs."""
    inherited = [inherited_metadata(path) for path in inputs]
    values: dict[str, Any] = {
        **{key: list(dict.fromkeys(chain(*(each[key] for each in inherited)))) for key in ("license", "language")},
        "title": f"Search index of {', '.join(manifest.sources)}",
        "source": ", ".join(manifest.sources),
        **manifest.results(),
    }
    return Card("search_index", values)


def copy_encoder(encoder: Path, folder: Path) -> None:
    """Copies an encoder folder into an index, so that the index is complete in itself."""
    ignored = shutil.ignore_patterns(".*", "checkpoint-*", "__pycache__")
    if encoder.is_dir():
        shutil.copytree(encoder, folder, ignore=ignored)


def remove_leftovers(folder: Path, manifest: Manifest) -> None:
    """Removes the segments that the manifest does not name: merged segments, and segments of a killed run."""
    names = {entry.name for entry in manifest.segments}
    for path in (folder / SEGMENTS_FOLDER).glob("*"):
        if path.name not in names:
            shutil.rmtree(path, ignore_errors=True)


def iterate_blocks(texts: Sequence[str], columns: Mapping[str, Sequence[Any]] | None) -> Iterator[pa.Table]:
    """Yields the texts, with other columns of as many values, as one table."""
    if taken := {SENTENCE, POSITION} & {*(columns or ())}:
        raise UsageError(f"the index itself makes the column {min(taken)}", remedy="give the column another name")
    try:
        yield pa.table({SENTENCE: pa.array(texts, pa.string()), **(columns or {})})
    except (pa.ArrowException, UnicodeEncodeError) as error:
        raise UsageError(f"values of a column differ in type: {error}", remedy="give values of one type") from error

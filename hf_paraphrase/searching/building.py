"""Builds an index: encodes sentences into rows, and leaves out repeated and empty ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..artefacts.cards import Card
from ..artefacts.provenance import inherited_metadata
from ..data.batch_function import Progress, no_progress
from ..data.schema import describe_columns, plain_type
from ..encoders.search_embedder import SearchEmbedder
from ..encoders.sentence_encoder import SentenceEncoder
from ..errors import InputError, UsageError
from ..settings import Option
from ..text.hashing import are_among
from ..text.normalization import is_blank
from ..vectors.faiss_index import KINDS
from .manifest import Manifest, SegmentEntry
from .segments import KEYS, POSITION, SENTENCE, Rows, hash_keys, write_segment
from .snapshot import Snapshot

Blocks = Iterable[pa.Table | list[str | None]]


class RowEncoder:
    """Encodes rows for an index and leaves out empty and repeated ones; see :func:`build_index` for the options.

    `earlier` is the current state of the index. `counts` are the numbers of `read`, `empty` and `repeated` rows, those
    already in the index included.
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
        manifest = Manifest(0) if earlier is None else earlier.manifest
        self.counts: dict[str, Any] = {name: getattr(manifest, name) for name in ("read", "empty", "repeated")}
        self._embedder, self._earlier, self._progress = embedder, earlier, progress
        self._kind, self._keep_repeated, self._batch_size = "text" if unique else "row", keep_repeated, batch_size
        self._names: list[str] = []
        fields = [] if earlier is None else earlier.table.schema
        self._types = {field.name: field.type for field in fields if not pa.types.is_null(field.type)}
        self._seen: set[int] = set()
        self._keys: dict[str, list[NDArray[np.uint64]]] = {"row": [], "id": []}

    def encode(self, blocks: Blocks) -> Iterator[Rows]:
        """Encode lists of texts, or tables with a column `sentence`."""
        for block in blocks:
            if isinstance(block, str):
                what = "a text among the blocks, where lists of texts are expected"
                raise UsageError(what, remedy="give lists of texts, such as [texts]")
            given = block if isinstance(block, pa.Table) else pa.table({SENTENCE: pa.array(block, pa.string())})
            if SENTENCE not in given.column_names:
                what = f"a table without a column {SENTENCE}"
                raise InputError(what, remedy=f"rename the column of texts; {describe_columns(given.column_names)}")
            given = given.cast(pa.schema([(field.name, plain_type(field.type)) for field in given.schema]))
            texts = given[SENTENCE].to_pylist()
            visible = np.flatnonzero([text is not None and not is_blank(text) for text in texts])
            self.counts["empty"] += len(texts) - len(visible)
            columns = {name: given[name].take(pa.array(visible)) for name in given.column_names}
            rows = self._conformed({**columns, POSITION: pa.chunked_array([visible + self.counts["read"] + 1])})
            keys = hash_keys(rows)
            for name, parts in self._keys.items():
                parts.append(keys[name])
            kept = np.flatnonzero(self._are_new(keys[self._kind]))
            self.counts["repeated"] += len(rows) - len(kept)
            if len(kept):
                vectors = self._embedder.embed([texts[row] for row in visible[kept]], batch_size=self._batch_size)
                yield rows.take(pa.array(kept)), vectors, {name: keys[name][kept] for name in KEYS}
            self.counts["read"] += len(texts)
            self._progress(len(texts))

    def _conformed(self, columns: dict[str, pa.ChunkedArray]) -> pa.Table:
        """Cast columns to their types in the index or in the first block; sentence and position come first."""
        names = [SENTENCE, POSITION, *(name for name in columns if name not in (SENTENCE, POSITION))]
        self._names = self._names or names
        if names != self._names:
            what = f"the columns {', '.join(names)} follow rows with the columns {', '.join(self._names)}"
            raise InputError(what, remedy="give all rows the same columns")
        self._types = {SENTENCE: pa.string(), **{name: columns[name].type for name in names[1:]}, **self._types}
        for name in names:
            try:
                columns[name] = columns[name].cast(self._types[name])
            except (pa.ArrowException, OSError) as error:
                what = f"the types of the columns are not those of the index: {name}: {error}"
                raise InputError(what, remedy="give columns of the same types, or build the index again") from error
        return pa.table({name: columns[name] for name in names})

    def _are_new(self, keys: NDArray[np.uint64]) -> NDArray[np.bool_]:
        new = np.ones(len(keys), bool)
        if self._keep_repeated:
            return new
        if self._earlier is not None:
            new = ~are_among(keys, np.unique(self._earlier.find(self._kind, keys)[1]))
        for row, key in enumerate(keys.tolist()):
            new[row] &= key not in self._seen
            self._seen.add(key)
        return new

    def replaced_rows(self) -> NDArray[np.int64]:
        """Return the rows of the index, ascending, whose id an encoded row has with other values."""
        if self._earlier is None or not self._keys["id"]:
            return np.empty(0, np.int64)
        keys = {name: np.concatenate(parts) for name, parts in self._keys.items()}
        same_id, _ = self._earlier.find("id", keys["id"])
        unchanged, _ = self._earlier.find("row", keys["row"])
        return np.setdiff1d(same_id, unchanged)


def build_index(
    encoder: SentenceEncoder,
    blocks: Blocks,
    folder: Path,
    *,
    method: str = "exact",
    unique: bool = False,
    keep_repeated: bool = False,
    batch_size: int = 256,
    progress: Progress = no_progress,
) -> Manifest:
    """Encode sentences and write an index folder, except for the encoder, the card and the provenance.

    Args:
        encoder: The encoder.
        blocks: Lists of texts, or tables with a column `sentence`, whose other columns are kept. None and blank texts
            are left out.
        folder: A new or empty folder.
        method: `exact`, or the kind of approximate search: `ivf`, `hnsw`, `int8` or `binary`.
        unique: Leave out a sentence that repeats an earlier one, whatever its other columns.
        keep_repeated: Keep a row that repeats an earlier one in all columns.
        batch_size: Sentences in a padded batch of the encoder.
        progress: Called with the number of sentences that were read.

    Returns:
        The manifest.
    """
    method = "ivf" if method == "approximate" else method
    Option(choices=["exact", *KINDS]).check("method", method)
    embedder = SearchEmbedder(encoder.for_task("document"))
    options: dict[str, Any] = {"keep_repeated": keep_repeated, "batch_size": batch_size, "progress": progress}
    rows = RowEncoder(embedder, unique=unique, **options)
    manifest = Manifest(encoder.dimension, method=method)
    entry = write_segment(folder, rows.encode(blocks), manifest, embedder, is_first=True)
    if entry is None:
        raise InputError("the corpus contains no sentences", remedy="give one sentence per line")
    if entry.zero_rows == entry.rows:
        what = f"no word of the {entry.rows:,} sentences is in the encoder's vocabulary"
        raise InputError(what, remedy="give text in the language and the script that the encoder was trained on")
    manifest = replace(manifest, segments=(entry,), **rows.counts)
    manifest.write(folder)
    return manifest


def find_first_to_merge(entries: Sequence[SegmentEntry]) -> int:
    """Return the index of the first segment to merge with all later ones; the number of segments for no merge.

    A segment is merged if the later ones together have at least as many rows, so that the number of segments grows
    with the logarithm of the rows, or if more than half of its rows are removed.
    """
    first, later_rows = len(entries), 0
    for position in reversed(range(len(entries))):
        entry = entries[position]
        if 2 * entry.num_removed > entry.rows or entry.live_rows <= later_rows:
            first = position
        later_rows += entry.live_rows
    return first


def make_index_card(manifest: Manifest, inputs: Sequence[Path]) -> Card:
    """Make the card of an index; licences and languages come from the cards of the inputs."""
    inherited = [inherited_metadata(path) for path in inputs]
    values: dict[str, Any] = {
        **{key: list(dict.fromkeys(chain(*(each[key] for each in inherited)))) for key in ("license", "language")},
        "title": f"Search index of {', '.join(manifest.sources)}",
        "source": ", ".join(manifest.sources),
        **manifest.results(),
    }
    return Card("search_index", values)

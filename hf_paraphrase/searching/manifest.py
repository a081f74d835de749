"""The manifest of an index, `index.json`: its segments and counts. Replacing the manifest commits a change."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..artefacts.files import atomic_write, read_json_object
from ..errors import InputError

MANIFEST_FILE = "index.json"
FORMAT = 2
_REMEDY = "make one with hf-paraphrase search --model … --corpus … --output …"


@dataclass(frozen=True)
class SegmentEntry:
    """A segment in the manifest.

    Attributes:
        name: Its folder below `segments`.
        rows: Number of rows when it was written.
        zero_rows: Number of remaining rows with a zero vector.
        removed: Name of the file that lists the removed rows, or None.
        num_removed: Number of removed rows.
        nlist: Number of inverted lists; 0 without.
        recall: Fraction of the true ten nearest neighbours that approximate search finds; None for exact search.
    """

    name: str
    rows: int
    zero_rows: int
    removed: str | None = None
    num_removed: int = 0
    nlist: int = 0
    recall: float | None = None

    @property
    def live_rows(self) -> int:
        """Number of rows that are not removed."""
        return self.rows - self.num_removed


@dataclass(frozen=True)
class Manifest:
    """The contents of an index folder.

    Attributes:
        dimension: Components of a vector.
        segments: The segments in the order of their rows.
        method: `exact`, or the kind of approximate search.
        read: Number of sentences read so far.
        empty: Number of sentences left out because they have no visible character.
        repeated: Number of rows left out because they repeat an earlier row.
        sources: Names of the corpora.
        encoder: Name of the encoder.
        columns: Text columns of the corpora that were read.
        format: Version of the file format.
    """

    dimension: int
    segments: tuple[SegmentEntry, ...] = ()
    method: str = "exact"
    read: int = 0
    empty: int = 0
    repeated: int = 0
    sources: Sequence[str] = ()
    encoder: str = "encoder"
    columns: Sequence[str] = ()
    format: int = FORMAT

    @property
    def rows(self) -> int:
        """Number of rows that are not removed."""
        return sum(segment.live_rows for segment in self.segments)

    @property
    def zero_rows(self) -> int:
        """Number of rows with a zero vector, which no search by meaning finds."""
        return sum(segment.zero_rows for segment in self.segments)

    @property
    def nlist(self) -> int:
        """Number of inverted lists of the largest segment; 0 without."""
        return max((segment.nlist for segment in self.segments), default=0)

    @property
    def recall(self) -> float | None:
        """Mean recall of the segments, weighted by their rows; None for exact search."""
        if self.method == "exact" or not self.rows:
            return None
        values = [(1.0 if each.recall is None else each.recall) * each.live_rows for each in self.segments]
        return sum(values) / self.rows

    def results(self) -> dict[str, Any]:
        """Return the counts and names for provenance and card."""
        own = {name: value for name, value in asdict(self).items() if name not in ("segments", "format")}
        counts = {"rows": self.rows, "zero_rows": self.zero_rows, "nlist": self.nlist, "recall": self.recall}
        return {**counts, "num_segments": len(self.segments), **own}

    def write(self, folder: Path) -> None:
        """Replace the manifest of a folder in one step, after the new one is on the disk."""
        with atomic_write(folder / MANIFEST_FILE) as temporary, temporary.open("w", encoding="utf-8") as stream:
            stream.write(json.dumps(asdict(self), indent=2, ensure_ascii=False) + "\n")
            stream.flush()
            os.fsync(stream.fileno())

    @classmethod
    def read_from(cls, folder: Path) -> Manifest:
        """Read the manifest of an index folder."""
        path = folder / MANIFEST_FILE
        if not path.exists():
            what = f"not an index folder: it has no {MANIFEST_FILE}" if folder.exists() else "no such index folder"
            raise InputError(what, path=folder, remedy=_REMEDY)
        values = read_json_object(path)
        version = values.get("format", 1)
        if not isinstance(version, int):
            raise InputError(f"damaged: the format {version!r}", path=path, remedy=_REMEDY)
        if version > FORMAT:
            raise InputError("made by a newer version of hf-paraphrase", path=path, remedy="update hf-paraphrase")
        if version < FORMAT:
            what = "an index of version 0.2 or earlier"
            raise InputError(what, path=path, remedy="build it again: search --corpus FILE --output INDEX --overwrite")
        try:
            segments = tuple(SegmentEntry(**entry) for entry in values.pop("segments"))
            return cls(segments=segments, **values)
        except (AttributeError, KeyError, TypeError) as error:
            raise InputError(f"damaged: {error}", path=path, remedy=_REMEDY) from error

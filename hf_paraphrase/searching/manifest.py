"""The manifest of an index, `index.json`: which segments it has. A change counts once the manifest is replaced."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ..artefacts.files import atomic_write, read_json_object
from ..errors import InputError

MANIFEST_FILE = "index.json"
SEGMENTS_FOLDER = "segments"
FORMAT = 2
_REMEDY = "make one with hf-paraphrase search --model … --corpus … --output …"


@dataclass(frozen=True)
class SegmentEntry:
    """One segment in the manifest.

    Attributes:
        name: The folder of the segment below `segments`.
        rows: Rows that the segment was written with.
        zero_rows: Rows whose vector is zero, without the removed ones.
        removed: The file in the segment that lists removed rows, or None.
        num_removed: How many rows it lists.
        nlist: Inverted lists of the segment; 0 without.
        recall: The fraction of the true ten nearest neighbors that approximate search finds; None without one.
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
        """Rows that are not removed."""
        return self.rows - self.num_removed


@dataclass(frozen=True)
class Manifest:
    """What an index folder contains.

    Attributes:
        dimension: Components of a vector.
        segments: The segments in the order of their rows.
        method: `exact`, or the kind of approximate search that segments are built for.
        read: Sentences that were read so far, those left out among them.
        empty: Sentences without a visible character, which were left out.
        repeated: Rows that were left out because they repeat an earlier row.
        sources: Names of the corpora.
        encoder: Name of the encoder.
        columns: Columns of the corpora that the sentences were read from.
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
    format: int = field(default=FORMAT)

    @property
    def rows(self) -> int:
        """Rows that are not removed."""
        return sum(segment.live_rows for segment in self.segments)

    @property
    def zero_rows(self) -> int:
        """Rows whose vector is zero, so that no search by meaning finds them."""
        return sum(segment.zero_rows for segment in self.segments)

    @property
    def nlist(self) -> int:
        """Inverted lists of the largest segment; 0 without."""
        return max((segment.nlist for segment in self.segments), default=0)

    @property
    def recall(self) -> float | None:
        """The mean recall of the segments, weighted by their rows; None for an index that is searched exactly."""
        if self.method == "exact" or not self.rows:
            return None
        values = [(1.0 if each.recall is None else each.recall) * each.live_rows for each in self.segments]
        return sum(values) / self.rows

    def results(self) -> dict[str, Any]:
        """Returns the numbers and names for provenance and card."""
        own = {name: value for name, value in asdict(self).items() if name not in ("segments", "format")}
        counts = {"rows": self.rows, "zero_rows": self.zero_rows, "nlist": self.nlist, "recall": self.recall}
        return {**counts, "num_segments": len(self.segments), **own}

    def write(self, folder: Path) -> None:
        """Replaces the manifest of a folder in one step, once it is on the disk."""
        with atomic_write(folder / MANIFEST_FILE) as temporary, temporary.open("w", encoding="utf-8") as stream:
            stream.write(json.dumps(asdict(self), indent=2, ensure_ascii=False) + "\n")
            stream.flush()
            os.fsync(stream.fileno())

    @classmethod
    def read_from(cls, folder: Path) -> Manifest:
        """Reads the manifest of an index folder of this version or of version 0.1 or 0.2."""
        path = folder / MANIFEST_FILE
        if not path.exists():
            what = f"not an index folder: it has no {MANIFEST_FILE}" if folder.exists() else "no such index folder"
            raise InputError(what, path=folder, remedy=_REMEDY)
        values = read_json_object(path)
        if values.get("format", 1) > FORMAT:
            raise InputError("made by a newer version of hf-paraphrase", path=path, remedy="update hf-paraphrase")
        try:
            if values.get("format") != FORMAT:
                return cls._of_version_1(values)
            segments = tuple(SegmentEntry(**entry) for entry in values.pop("segments"))
            return cls(segments=segments, **values)
        except (AttributeError, KeyError, TypeError) as error:
            raise InputError(f"damaged: {error}", path=path, remedy=_REMEDY) from error

    @classmethod
    def _of_version_1(cls, values: dict[str, Any]) -> Manifest:
        """Reads the settings of version 0.1 or 0.2, whose only segment is the folder itself."""
        lists = values.get("lists", 0)
        segment = SegmentEntry("", values["rows"], values["zero_rows"], nlist=lists, recall=values.get("recall"))
        counts = {name: values.get(name, 0) for name in ("read", "empty", "repeated")}
        return cls(values["dimension"], (segment,), "ivf" if lists else "exact", **counts, format=1)

"""What `quality_speed.py` found, as it is written, read again, and laid out as a table."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from hf_paraphrase.artefacts.files import write_text_whole
from hf_paraphrase.errors import InputError
from hf_paraphrase.tables import format_table, number

_REMEDY = "give a file that --output has written"


@dataclass(frozen=True)
class Row:
    """One encoder.

    Attributes:
        ours: Whether it is one of this package.
        quality: Its figures × 100 by the names of the columns.
        sentences_per_second: The median over the timed turns, of its fastest settings.
        settings: The fastest settings; empty for the defaults.
        size: What is on the disk, in bytes.
        dimension: Components of a vector; None where there is no dense one.
        sets: Pearson × 100 of each set of STS.
    """

    name: str
    ours: bool
    quality: dict[str, float]
    sentences_per_second: float
    least: float
    most: float
    timed: int
    settings: str
    size: int
    dimension: int | None
    sets: dict[str, float]

    @property
    def megabytes(self) -> float:
        """The size on the disk in millions of bytes."""
        return self.size / 1e6

    def figures(self) -> dict[str, Any]:
        """Returns all that the table has as plain values, rounded."""
        return {
            **{key: round(value, 2) for key, value in self.quality.items()},
            "sentences_per_second": float(f"{self.sentences_per_second:.4g}"),
            "least": float(f"{self.least:.4g}"),
            "most": float(f"{self.most:.4g}"),
            "megabytes": float(f"{self.megabytes:.3g}"),
            "components": self.dimension,
            "ours": self.ours,
        }


@dataclass(frozen=True)
class Record:
    """Everything that was measured.

    Attributes:
        facts: What it was measured with and on.
        rows: The encoders, in the order of the table.
    """

    facts: dict[str, Any]
    rows: tuple[Row, ...]

    @property
    def columns(self) -> list[str]:
        """The names of the columns of quality."""
        return list(dict.fromkeys(name for row in self.rows for name in row.quality))

    def write(self, path: Path) -> None:
        """Writes everything as JSON."""
        content = {"facts": self.facts, "rows": [asdict(row) for row in self.rows]}
        write_text_whole(path, json.dumps(content, indent=1, ensure_ascii=False) + "\n")

    @classmethod
    def read(cls, path: Path) -> Record:
        """Reads what :meth:`write` has written."""
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            rows = tuple(Row(**row) for row in content["rows"])
            facts = dict(content["facts"])
        except OSError as error:
            raise InputError(f"cannot read: {error.strerror}", path=path, remedy=_REMEDY) from error
        except (ValueError, TypeError, KeyError) as error:
            raise InputError(f"no figures of this benchmark: {error}", path=path, remedy=_REMEDY) from error
        if not rows:
            raise InputError("no encoder is in it", path=path, remedy=_REMEDY)
        return cls(facts, rows)

    def write_csv(self, path: Path) -> None:
        """Writes one line an encoder, with its figures as they were measured."""
        sets = list(dict.fromkeys(name for row in self.rows for name in row.sets))
        plain = [item.name for item in fields(Row) if item.name not in ("quality", "sets")]
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow([*plain, *self.columns, *sets])
        for row in self.rows:
            values = [getattr(row, name) for name in plain]
            writer.writerow([*values, *map(row.quality.get, self.columns), *map(row.sets.get, sets)])
        write_text_whole(path, text.getvalue())

    def table(self) -> str:
        """Formats quality, speed and size, ending in a newline."""
        header = ["encoder", *self.columns, "sentences/s", "min", "max", "MB", "components", "timed with"]
        rows: Sequence[Sequence[str]] = [
            [
                f"**{row.name}**" if row.ours else row.name,
                *(number(row.quality.get(name)) for name in self.columns),
                *(f"{rate:,.0f}" for rate in (row.sentences_per_second, row.least, row.most)),
                f"{row.megabytes:.3g}",
                "–" if row.dimension is None else str(row.dimension),
                row.settings or "defaults",
            ]
            for row in self.rows
        ]
        return format_table(header, rows)

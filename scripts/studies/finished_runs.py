"""The file in which a study notes what is finished: one JSON object a line, written as soon as a run is done."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def read_rows(path: Path) -> dict[str, dict[str, Any]]:
    """Reads the finished runs by their key, as JSON; none if there is no file yet.

    A line that is no JSON object with a key, such as the one that was being written when a study was killed, is a run
    to do again.
    """
    found: dict[str, dict[str, Any]] = {}
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines() if path.exists() else []:
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if isinstance(row, dict) and "key" in row:
            found[json.dumps(row["key"])] = row
    return found


def append_row(path: Path, row: dict[str, Any]) -> None:
    """Notes a finished run, on a line of its own whatever the last line looks like."""
    torn = path.exists() and path.stat().st_size and not path.read_bytes().endswith(b"\n")
    with path.open("a", encoding="utf-8") as file:
        file.write(("\n" if torn else "") + json.dumps(row) + "\n")

"""A key for the cache of `datasets` that changes when the raw files change."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path


def input_state(paths: Iterable[str | Path], salt: str | None = None) -> str:
    """Hashes the names, sizes and modification times of files, and of all files below folders.

    Args:
        paths: Files and folders; one that does not exist counts by its name.
        salt: Any further component of the key.

    Returns:
        16 hexadecimal digits.
    """
    states: list[tuple[str, int, int]] = []
    for path in map(Path, paths):
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            stat = file.stat() if file.exists() else None
            states.append((str(file), stat.st_size if stat else -1, stat.st_mtime_ns if stat else -1))
    return hashlib.sha256(json.dumps([salt, states]).encode()).hexdigest()[:16]

"""Whether a student fits the memory, before it is made."""

from __future__ import annotations

from pathlib import Path

from ...errors import UsageError

_ROOM = "MemAvailable:"
_BYTES = 4
_COPIES = 4
"""The table, Adam's two moments, and the finished table that is scored and written."""


def check_memory(rows: int, components: int, ngram_rows: int = 0) -> None:
    """Refuses a student whose tables do not fit the memory while they are trained."""
    wanted = _BYTES * components * (_COPIES * rows + (_COPIES - 1) * ngram_rows)
    available = available_memory()
    if available is not None and wanted > available:
        ngrams = f" and {ngram_rows:,} n-gram vectors" if ngram_rows else ""
        raise UsageError(
            f"{rows:,} token vectors{ngrams} of {components:,} components take {wanted / 2**30:.1f} GiB to train, and "
            f"{available / 2**30:.1f} GiB of memory are free",
            remedy=f"lower --vocabulary-size{', --ngram-buckets' if ngram_rows else ''} or --hidden-size",
        )


def available_memory() -> int | None:
    """Returns the bytes that a process may still take, by the system and the limit of its group; None if unknown."""
    limits: list[int] = []
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith(_ROOM):
                limits.append(int(line.split()[1]) << 10)
        group = Path("/sys/fs/cgroup")
        limit = (group / "memory.max").read_text(encoding="ascii").strip()
        if limit.isdigit():
            used = int((group / "memory.current").read_text(encoding="ascii"))
            # Pages of files that were read count as held and are given back at need.
            for line in (group / "memory.stat").read_text(encoding="ascii").splitlines():
                name, _, value = line.partition(" ")
                used -= int(value) if name in ("inactive_file", "active_file") else 0
            limits.append(max(0, int(limit) - used))
    except (OSError, ValueError):
        pass
    return min(limits) if limits else None

"""Peak memory of a step over pairs, whether NumPy, Python or Arrow allocated it."""

from __future__ import annotations

import tracemalloc

import pyarrow as pa

from hf_paraphrase.data.folder import write_split

ROWS_AT_A_TIME = 250
_CHARACTERS = 1_000


def long_pairs(folder, rows):
    """Write pairs of two long words each, one row group per batch."""

    def table(start):
        numbers = range(start, start + ROWS_AT_A_TIME)
        sides = {f"sentence{side}": [f"{i:0{_CHARACTERS}d}" for i in numbers] for side in (1, 2)}
        return pa.table({**sides, "note": list(numbers)})

    write_split(folder, "train", (table(start) for start in range(0, rows, ROWS_AT_A_TIME)), table(0).schema)
    return folder


def peak_bytes(work):
    """Run `work` and return its peak memory in bytes."""
    before = pa.default_memory_pool()
    pool = pa.proxy_memory_pool(before)
    pa.set_memory_pool(pool)
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1] + pool.max_memory()
    finally:
        tracemalloc.stop()
        pa.set_memory_pool(before)


def bytes_a_row(peak_of, folder, few=500, many=2_500):
    """Return the bytes per further row; `peak_of` takes a folder of pairs and returns the peak of the work on it."""
    # The first run includes imports.
    sizes = {"first": few, "few": few, "many": many}
    _, small, large = (peak_of(long_pairs(folder / name, rows)) for name, rows in sizes.items())
    return (large - small) / (many - few)

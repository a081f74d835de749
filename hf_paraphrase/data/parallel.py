"""Work on blocks of rows in several threads, with results in order and a bounded number of blocks in memory.

Decompression, Arrow's kernels and Parquet's encoders release the interpreter lock, so threads use every core for them,
and the texts need not be copied between processes.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

A = TypeVar("A")
B = TypeVar("B")


def available_cores() -> int:
    """Returns the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def mapped_in_order(function: Callable[[A], B], items: Iterable[A], workers: int) -> Generator[B, None, None]:
    """Applies a function to items in threads; at most twice as many items as threads are taken and not given back."""
    pending: deque[Future[B]] = deque()
    with ThreadPoolExecutor(workers, thread_name_prefix="blocks") as pool:
        try:
            for item in items:
                pending.append(pool.submit(function, item))
                if len(pending) >= 2 * workers:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            for future in pending:
                future.cancel()

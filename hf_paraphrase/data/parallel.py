"""Work on blocks of rows in several threads, with results in order and a bounded number of blocks in memory.

Reading, decompression, Arrow's kernels and Parquet's encoders all release the interpreter lock, so threads use every
core for them, and the texts need not be copied between processes.
"""

from __future__ import annotations

import os
import queue
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

A = TypeVar("A")
B = TypeVar("B")

_END = object()


def available_cores() -> int:
    """Returns the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def prefetched(items: Iterable[A], ahead: int = 2) -> Generator[A, None, None]:
    """Produces items in a thread of their own while earlier ones are being used."""
    waiting: queue.Queue[tuple[object, BaseException | None]] = queue.Queue(maxsize=ahead)
    stopped = threading.Event()

    def put(item: object, error: BaseException | None = None) -> bool:
        while not stopped.is_set():
            try:
                waiting.put((item, error), timeout=0.1)
                return True
            except queue.Full:
                continue
        return False

    def produce() -> None:
        try:
            for item in items:
                if not put(item):
                    return
            put(_END)
        except BaseException as error:
            put(_END, error)

    thread = threading.Thread(target=produce, name="prefetch", daemon=True)
    thread.start()
    try:
        while True:
            item, error = waiting.get()
            if error is not None:
                raise error
            if item is _END:
                return
            yield item  # type: ignore[misc]
    finally:
        stopped.set()
        thread.join()


def mapped_in_order(
    function: Callable[[A], B], items: Iterable[A], workers: int | None = None
) -> Generator[B, None, None]:
    """Applies a function to items in threads.

    Args:
        function: It must not change what another call sees.
        items: Taken one by one; at most twice as many as there are workers are in work or waiting at a time.
        workers: Threads; one a core by default.

    Yields:
        The results in the order of the items.
    """
    workers = available_cores() if workers is None else workers
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

"""Threads: how many may compute, functions applied to blocks in several of them, and PyTorch kept to one.

Decompression, Arrow's kernels, Parquet's encoders and products of matrices release the interpreter lock, so threads
use every core for them, and nothing need be copied between processes.
"""

from __future__ import annotations

import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from typing import Any, TypeVar

Block = TypeVar("Block")
Result = TypeVar("Result")


def available_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def available_threads() -> int:
    """Return how many threads may compute: PyTorch's number where it is imported, else what it would be."""
    if (torch := _imported_torch()) is not None:
        return int(torch.get_num_threads())
    asked = os.environ.get("OMP_NUM_THREADS", "")
    return int(asked) if asked.isdecimal() and int(asked) else available_cores()


def mapped_in_order(
    function: Callable[[Block], Result], blocks: Iterable[Block], threads: int, pool: Executor | None = None
) -> Generator[Result, None, None]:
    """Yield a function's results for blocks, in their order, from so many threads, or the workers of a `pool`.

    At most twice as many blocks as threads are read ahead. An interrupt does not wait for the blocks under way.
    """
    pending: deque[Future[Result]] = deque()
    pool = pool or ThreadPoolExecutor(threads, thread_name_prefix="blocks", initializer=_begin_thread)
    try:
        for block in blocks:
            pending.append(pool.submit(function, block))
            if len(pending) >= 2 * threads:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()


def in_threads(function: Callable[[Block], Result], blocks: Sequence[Block], threads: int) -> Generator[Result]:
    """Yield a function's results for blocks, in their order; each of so many threads computes its block alone."""
    threads = min(threads, len(blocks))
    with one_thread() if threads > 1 or _FORKED else nullcontext():
        if threads <= 1:
            yield from map(function, blocks)
            return
        with closing(mapped_in_order(function, blocks, threads)) as results:
            yield from results


def one_blas_thread() -> AbstractContextManager[Any]:
    """Keep products of NumPy to the thread that calls them, where threadpoolctl is installed.

    The threads of a BLAS wait for one another in a loop: small products in several threads take many times as long.
    """
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:
        return nullcontext()
    limits: AbstractContextManager[Any] = threadpool_limits(1, "blas")
    return limits


_LOCK = threading.Lock()
_THREADS_BEFORE: list[int] = []
"""PyTorch's numbers of threads before the blocks that keep it to one; the last to end goes back to the first."""
_FORKED = False
"""Whether this process is a fork: operators of PyTorch in several threads may wait for threads of its parent."""


def _imported_torch() -> Any:
    """Return PyTorch if it is imported; where another thread has begun to import it, once that is done."""
    if "torch" not in sys.modules:
        return None
    import torch

    return torch


def _begin_thread() -> None:
    """Keep PyTorch to one thread in a new one, also if a block of another thread has ended meanwhile."""
    torch = _imported_torch()
    with _LOCK:
        if torch is not None and _THREADS_BEFORE:
            torch.set_num_threads(1)


def _after_fork() -> None:
    """Forget the blocks of the parent's threads in a forked process, and gives PyTorch its number of threads back."""
    global _LOCK, _FORKED
    _LOCK, _FORKED = threading.Lock(), True
    # A module that another thread was importing is never finished in this process.
    if _THREADS_BEFORE and (set_threads := getattr(sys.modules.get("torch"), "set_num_threads", None)):
        set_threads(_THREADS_BEFORE[0])
    _THREADS_BEFORE.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


@contextmanager
def one_thread() -> Iterator[None]:
    """Keep the operators of PyTorch, if it is imported, to the thread that calls them.

    How many threads share a sum changes its last digits, and on a busy machine threads wait long for one another.
    """
    torch = _imported_torch()
    if torch is None:
        yield
        return
    with _LOCK:
        before = torch.get_num_threads()
        _THREADS_BEFORE.append(before)
        torch.set_num_threads(1)
    try:
        yield
    finally:
        with _LOCK:
            first = _THREADS_BEFORE[0]
            _THREADS_BEFORE.pop()
            # With OpenMP each thread has a number of its own, which no other thread gives back.
            torch.set_num_threads(before if _THREADS_BEFORE else max(before, first))

"""Threads: their number, functions applied to blocks in several threads, and PyTorch limited to one.

Decompression, Arrow, Parquet and matrix products release the interpreter lock, so threads use every core for them.
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
    """Return the number of threads of PyTorch, or the number that it would use if it is not imported."""
    if (torch := _imported_torch()) is not None:
        return int(torch.get_num_threads())
    asked = os.environ.get("OMP_NUM_THREADS", "")
    return int(asked) if asked.isdecimal() and int(asked) else available_cores()


def mapped_in_order(
    function: Callable[[Block], Result], blocks: Iterable[Block], threads: int, pool: Executor | None = None
) -> Generator[Result, None, None]:
    """Yield a function's results for blocks, in their order, from threads or from the workers of a `pool`.

    At most 2 * `threads` blocks are read ahead. An interrupt does not wait for running blocks.
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
    """Yield a function's results for blocks, in their order; PyTorch computes each block in one thread."""
    threads = min(threads, len(blocks))
    with one_thread() if threads > 1 or _FORKED else nullcontext():
        if threads <= 1:
            yield from map(function, blocks)
            return
        with closing(mapped_in_order(function, blocks, threads)) as results:
            yield from results


def one_blas_thread() -> AbstractContextManager[Any]:
    """Limit matrix products of NumPy to the calling thread: small products take much longer in several threads."""
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:  # a light installation lacks it
        return nullcontext()
    limits: AbstractContextManager[Any] = threadpool_limits(1, "blas")
    return limits


_LOCK = threading.Lock()
_THREADS_BEFORE: list[int] = []
"""PyTorch's numbers of threads before the open blocks of :func:`one_thread`."""
_FORKED = False
"""Whether this process is a fork, in which PyTorch may wait for threads of the parent."""


def _imported_torch() -> Any:
    """Return PyTorch if it is imported; wait for another thread that is importing it."""
    if "torch" not in sys.modules:
        return None
    import torch

    return torch


def _begin_thread() -> None:
    """Limit PyTorch to one thread in a new thread while any block of :func:`one_thread` is open."""
    torch = _imported_torch()
    with _LOCK:
        if torch is not None and _THREADS_BEFORE:
            torch.set_num_threads(1)


def _after_fork() -> None:
    """Forget the open blocks of the parent in a forked process, and restore PyTorch's number of threads."""
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
    """Limit the operators of PyTorch, if it is imported, to the calling thread.

    The number of threads changes the last digits of a sum, and threads on a busy machine wait for one another.
    """
    if (torch := _imported_torch()) is None:
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
            # With OpenMP each thread has its own number, which no other thread restores.
            torch.set_num_threads(before if _THREADS_BEFORE else max(before, first))

"""Array work of independent blocks on several threads."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, TypeVar

Block = TypeVar("Block")
Result = TypeVar("Result")


def available_threads() -> int:
    """Returns how many threads may compute: what PyTorch says where it is imported, else what it would say."""
    if (torch := _imported_torch()) is not None:
        return int(torch.get_num_threads())
    asked = os.environ.get("OMP_NUM_THREADS", "")
    if asked.isdecimal() and int(asked):
        return int(asked)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_threads(function: Callable[[Block], Result], blocks: Sequence[Block], threads: int) -> Generator[Result]:
    """Yields a function's results for blocks, in their order; each of so many threads computes its block alone."""
    threads = min(threads, len(blocks))
    if threads <= 1:
        yield from map(function, blocks)
        return
    with one_thread():
        pool = ThreadPoolExecutor(threads, initializer=_begin_thread)
        try:
            yield from pool.map(function, blocks)
        except BaseException:
            # An interrupt does not wait for the blocks under way.
            pool.shutdown(wait=False, cancel_futures=True)
            raise
        pool.shutdown()


def one_blas_thread() -> AbstractContextManager[Any]:
    """Keeps products of NumPy to the thread that calls them, where threadpoolctl is installed.

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
"""What each block that keeps PyTorch to one thread now has found; the last to end goes back to the first number."""


def _imported_torch() -> Any:
    """Returns PyTorch if it is imported; where another thread has begun to import it, once that is done."""
    if "torch" not in sys.modules:
        return None
    import torch

    return torch


def _begin_thread() -> None:
    """Keeps PyTorch to one thread in a new one, also if a block of another thread has ended meanwhile."""
    torch = _imported_torch()
    with _LOCK:
        if torch is not None and _THREADS_BEFORE:
            torch.set_num_threads(1)


def _after_fork() -> None:
    """Keeps PyTorch to one thread in a forked process, which would wait for the threads of its parent."""
    global _LOCK
    _LOCK = threading.Lock()
    _THREADS_BEFORE.clear()
    # A module that another thread was importing is never finished in this process.
    if set_threads := getattr(sys.modules.get("torch"), "set_num_threads", None):
        set_threads(1)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


@contextmanager
def one_thread() -> Iterator[None]:
    """Keeps the operators of PyTorch, if it is imported, to the thread that calls them.

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

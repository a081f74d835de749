"""Array work of independent blocks on several threads, and what the process needs for it."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import torch

Block = TypeVar("Block")
Result = TypeVar("Result")
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8
_ONE_GIBIBYTE = 1 << 30


def available_threads() -> int:
    """Returns how many threads may compute: what PyTorch says where it is imported, else what it would say."""
    if "torch" in sys.modules:
        import torch

        return torch.get_num_threads()
    asked = os.environ.get("OMP_NUM_THREADS", "")
    if asked.isdecimal() and int(asked):
        return int(asked)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_threads(function: Callable[[Block], Result], blocks: Sequence[Block], threads: int) -> Iterator[Result]:
    """Applies a function to blocks on several threads, each of which computes its block alone.

    NumPy, Arrow, `tokenizers` and PyTorch let other Python threads run while they compute. Were PyTorch left to split
    every operator over its own threads as well, there would be more of them than processors, and each operator would
    wait for the slowest: on a busy machine that costs a hundred times the computation.

    Args:
        function: What to apply.
        blocks: Its arguments.
        threads: How many at a time.

    Yields:
        The results in the order of the blocks.
    """
    threads = min(threads, len(blocks))
    if threads <= 1:
        yield from map(function, blocks)
        return
    pool = ThreadPoolExecutor(threads, initializer=_compute_alone)
    try:
        yield from pool.map(function, blocks)
    except BaseException:
        # Whoever interrupts does not wait for the blocks under way.
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()


@contextmanager
def one_thread() -> Iterator[None]:
    """Keeps PyTorch, if it is imported, to one thread: how many share a sum changes its last digits."""
    torch: Any = sys.modules.get("torch")
    if torch is None:
        yield
        return
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


@contextmanager
def single_threaded_operations(device: torch.device) -> Iterator[None]:
    """Gives every tensor operation on the processor one thread meanwhile.

    Sums of floating-point numbers depend in their last bits on how many threads share them, and with them now and then
    the order of a list of translations; so the threads are given whole batches instead.
    """
    import torch

    before = torch.get_num_threads()
    if device.type == "cpu":
        # Threads that begin from here on take the number over.
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def keep_freed_memory() -> bool:
    """Raises glibc's mmap and trim thresholds to 1 GiB for this process, and lets its threads share one heap.

    Training and beam search allocate temporaries of tens of megabytes at every step. By default each is mapped,
    faulted in page by page and unmapped again, which took about a quarter of the time of a training step on two
    cores. Threads that begin later would have heaps of their own, in which no block may be larger than 64 MiB: what is
    larger would be mapped anew each time, whatever the thresholds. Results are not affected.

    Returns:
        Whether the allocator took the settings; false where the C library has no `mallopt`.
    """
    if not sys.platform.startswith("linux"):
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return False
    mallopt(_M_ARENA_MAX, 1)
    return bool(mallopt(_M_MMAP_THRESHOLD, _ONE_GIBIBYTE)) and bool(mallopt(_M_TRIM_THRESHOLD, _ONE_GIBIBYTE))


@contextmanager
def computing_alone() -> Iterator[None]:
    """Makes PyTorch's operators run on the calling thread alone meanwhile, and changes nothing for any other thread.

    Several threads wait for one another at the end of every operator. Where other programs keep the processors busy,
    that takes a hundred times as long as a small operator itself.
    """
    openmp = _openmp()
    before = 1 if openmp is None else openmp.omp_get_max_threads()
    if openmp is None or before == 1:
        yield
        return
    openmp.omp_set_num_threads(1)
    try:
        yield
    finally:
        openmp.omp_set_num_threads(before)


def _compute_alone() -> None:
    """Makes PyTorch's operators run on the calling thread alone from now on; see :func:`computing_alone`."""
    openmp = _openmp()
    if openmp is not None:
        openmp.omp_set_num_threads(1)


def _openmp() -> ctypes.CDLL | None:
    """Gives the OpenMP library below PyTorch, or None if that is not imported.

    PyTorch has a number of threads for the whole process only; the library below it has one for each thread. Where
    PyTorch was built without it or hides it, there is none: that is slower and gives equal results.
    """
    if "torch" not in sys.modules:
        return None
    import torch

    # The first question in a thread sets up what is then changed.
    torch.get_num_threads()
    return _openmp_of(torch._C.__file__)


@cache
def _openmp_of(library: str) -> ctypes.CDLL | None:
    try:
        opened = ctypes.CDLL(library)
        opened.omp_set_num_threads(opened.omp_get_max_threads())
    except (AttributeError, OSError):
        return None
    return opened

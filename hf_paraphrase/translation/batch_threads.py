"""Work on batches in several threads, with results that do not depend on how many there are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

import torch

MOST_THREADS = 8
"""More threads than this wait for Python's lock more than they compute; more processes help then."""

_Batch = TypeVar("_Batch")
_Result = TypeVar("_Result")


def threads_for(device: torch.device) -> int:
    """Returns how many batches are worked on at once: on a processor one a thread of PyTorch, elsewhere one."""
    return min(MOST_THREADS, torch.get_num_threads()) if device.type == "cpu" else 1


@contextmanager
def single_threaded_operations(device: torch.device) -> Iterator[None]:
    """Gives every tensor operation on the processor one thread meanwhile.

    Sums of floating-point numbers depend in their last bits on how many threads share them, and with them now and then
    the order of a list of translations; so the threads are given whole batches instead.
    """
    before = torch.get_num_threads()
    if device.type == "cpu":
        # Threads that begin from here on take the number over.
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def results_in_order(
    function: Callable[[_Batch], _Result], batches: Iterable[_Batch], threads: int
) -> Iterator[_Result]:
    """Yields what a function makes of batches, in their order, working on as many at once as there are threads.

    An error ends the work when its batch has its turn; batches that have not begun are dropped then.

    Args:
        function: What works on a batch; it must not change what others read.
        batches: The batches.
        threads: How many work at once; 1 works in the thread that asks.
    """
    if threads == 1:
        yield from map(function, batches)
        return
    with ThreadPoolExecutor(threads, thread_name_prefix="batches") as pool:
        yield from pool.map(function, batches)

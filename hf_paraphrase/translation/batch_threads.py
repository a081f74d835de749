"""How many batches are worked on at once, with results that do not depend on it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

MOST_THREADS = 8
"""More threads than this wait for Python's lock more than they compute; more processes help then."""
MOST_PLAIN_THREADS = 2
"""The same for a search by `generate` itself, of which a batch may need more than a gibibyte."""


def threads_for(device: torch.device, *, fast: bool = True) -> int:
    """Returns how many batches are worked on at once: on a processor one a thread of PyTorch, elsewhere one.

    Args:
        device: Where the model is.
        fast: Whether the search is :func:`~.fast_search.fast_beam_search`.
    """
    most = MOST_THREADS if fast else MOST_PLAIN_THREADS
    return min(most, torch.get_num_threads()) if device.type == "cpu" else 1


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

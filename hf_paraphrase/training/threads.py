"""Array work of independent blocks on several threads."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Block = TypeVar("Block")
Result = TypeVar("Result")


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


def _compute_alone() -> None:
    """Makes PyTorch's operators run on the calling thread alone, and changes nothing for any other thread.

    PyTorch has such a setting for the whole process only; the OpenMP library below it has one for each thread. Where
    PyTorch was built without OpenMP or hides it, nothing is set: that is slower and gives equal results.
    """
    import torch

    # The first question in a thread sets up what is then changed.
    torch.get_num_threads()
    try:
        ctypes.CDLL(torch._C.__file__).omp_set_num_threads(1)
    except (AttributeError, OSError):
        return

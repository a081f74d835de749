"""Encodes texts in several processes, on several GPUs or on the CPU."""

from __future__ import annotations

import multiprocessing
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..errors import UsageError
from ..vectors.checks import check_counts

_CHUNKS_PER_PROCESS, _LARGEST_CHUNK = 10, 5000
_encoder: Any = None
"""The encoder of a worker process."""


class EncoderPool:
    """Processes that hold an encoder, one per device; a context manager that stops them."""

    def __init__(self, encoder: Any, devices: Sequence[str]) -> None:
        if not devices:
            raise UsageError("there are no devices for the processes", remedy="give a list such as ['cpu', 'cpu']")
        context = multiprocessing.get_context("spawn")
        queue = context.SimpleQueue()
        for device in devices:
            queue.put(str(device))
        self.devices = list(devices)
        self._executor = ProcessPoolExecutor(len(devices), context, _start_worker, (encoder, queue))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def encode(
        self, texts: Sequence[str], chunk_size: int | None, options: Mapping[str, Any]
    ) -> list[NDArray[np.float32]]:
        """Embed chunks of texts, in their order."""
        chunks = -(-len(texts) // (len(self.devices) * _CHUNKS_PER_PROCESS))
        size = chunk_size or max(1, min(chunks, _LARGEST_CHUNK))
        check_counts(chunk_size=size)
        parts = [texts[start : start + size] for start in range(0, len(texts), size)]
        return list(self._executor.map(_encode_chunk, parts, [dict(options)] * len(parts)))

    def close(self) -> None:
        """Stop the processes."""
        self._executor.shutdown(cancel_futures=True)


def encode_in_processes(
    encoder: Any,
    texts: list[str],
    pool: EncoderPool | Sequence[str],
    chunk_size: int | None,
    options: Mapping[str, Any],
) -> NDArray[np.float32]:
    """Embed texts with a pool, or with a new one for a list of devices, float32 (texts, dim)."""
    if isinstance(pool, EncoderPool):
        parts = pool.encode(texts, chunk_size, options)
    else:
        with EncoderPool(encoder, pool) as own_pool:
            parts = own_pool.encode(texts, chunk_size, options)
    size = options.get("truncate_dim") or encoder.dimension
    return np.concatenate([np.zeros((0, size), np.float32), *parts])


def default_devices() -> list[str]:
    """Return all GPUs of this machine, or the CPU four times."""
    import torch

    return [f"cuda:{index}" for index in range(torch.cuda.device_count())] or ["cpu"] * 4


def _start_worker(encoder: Any, queue: Any) -> None:
    global _encoder
    _encoder = encoder.to(queue.get())


def _encode_chunk(texts: list[str], options: dict[str, Any]) -> NDArray[np.float32]:
    assert _encoder is not None
    return _encoder.embed(texts, **options)

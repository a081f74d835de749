"""Encodes the texts of requests that arrive at the same time in one batch.

A network encodes 16 short texts in hardly more time than one. No request waits for others to arrive: the thread that
gets the lock encodes all requests that arrived while another thread held it.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..encoders.sentence_encoder import SentenceEncoder

MAX_TEXTS_PER_BATCH = 4096
"""A batch has more texts only if a single request has."""


@dataclass(eq=False)
class _Request:
    texts: Sequence[str]
    options: tuple[Literal["query", "document"] | None, str | None, int | None]
    vectors: NDArray[Any] | None = None
    num_tokens: int = 0
    error: Exception | None = None

    @property
    def is_answered(self) -> bool:
        return self.vectors is not None or self.error is not None


class RequestEncoder:
    """Encodes the texts of requests for several threads.

    Args:
        encoder: The encoder.
        lock: Held while the encoder works, because neither tokenizers nor networks support several threads.
    """

    def __init__(self, encoder: SentenceEncoder, lock: Lock) -> None:
        self.encoder = encoder
        self._lock, self._waiting = lock, deque[_Request]()

    def encode(
        self,
        texts: Sequence[str],
        *,
        task: Literal["query", "document"] | None = None,
        prompt: str | None = None,
        truncate_dim: int | None = None,
    ) -> tuple[NDArray[Any], int]:
        """Encode texts to vectors of length 1, together with the texts of other threads.

        Args:
            texts: The texts.
            task: The kind of the texts, for encoders that embed queries and documents differently.
            prompt: The text to put before each text; None for the default prompt of the encoder.
            truncate_dim: Number of components to return.

        Returns:
            The vectors (texts, components), and the number of tokens. The error of a request is raised in its own
            thread only.
        """
        request = _Request(texts, (task, prompt, truncate_dim))
        self._waiting.append(request)
        with self._lock:
            while not request.is_answered:
                self._answer(self._take())
        if request.error is not None:
            raise request.error
        assert request.vectors is not None
        return request.vectors, request.num_tokens

    def _take(self) -> list[_Request]:
        """Take requests from the queue, the earliest first, as many as fit into a batch."""
        taken = [self._waiting.popleft()]
        num_texts = len(taken[0].texts)
        while self._waiting and num_texts + len(self._waiting[0].texts) <= MAX_TEXTS_PER_BATCH:
            taken.append(self._waiting.popleft())
            num_texts += len(taken[-1].texts)
        return taken

    def _answer(self, requests: list[_Request]) -> None:
        alike = defaultdict(list)
        for request in requests:
            alike[request.options].append(request)
        for group in alike.values():
            try:
                self._encode(group)
            except Exception as error:
                if len(group) == 1:
                    group[0].error = error
                else:
                    for request in group:
                        self._answer([request])

    def _encode(self, group: list[_Request]) -> None:
        task, prompt, truncate_dim = group[0].options
        encoder = self.encoder if task is None else self.encoder.for_task(task)
        texts = [text for request in group for text in request.texts]
        ends = np.cumsum([len(request.texts) for request in group])[:-1]
        lengths = np.split(encoder.token_ids(texts, prompt).lengths, ends)
        vectors = encoder.encode(texts, prompt=prompt, truncate_dim=truncate_dim, normalize_embeddings=True)
        for request, part, counts in zip(group, np.split(vectors, ends), lengths, strict=True):
            request.vectors, request.num_tokens = part, int(counts.sum())

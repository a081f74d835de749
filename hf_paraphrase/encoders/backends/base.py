"""The interface of a backend, and the base of the backends that read token ids."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...errors import UsageError
from ...tokenization.ragged_ids import TokenIds, ends_of
from ...vectors.similarity import unit_rows
from .batch_tokenizer import BatchTokenizer, InputProcessing

if TYPE_CHECKING:
    import torch

Tokenize = Callable[[slice], TokenIds]
"""Computes the token ids of a block of texts."""
_ALPHANUMERIC = re.compile(r"[^\W_]")


@dataclass(frozen=True)
class LoadingOptions:
    """How transformers opens third-party folders, as the arguments of `SentenceEncoder`."""

    dtype: str | torch.dtype | None = None
    trust_remote_code: bool = False
    model_kwargs: Mapping[str, Any] | None = None
    tokenizer_kwargs: Mapping[str, Any] | None = None


@dataclass
class EmbeddingJob:
    """The result and the options of one call of :meth:`Backend.embed`.

    Attributes:
        vectors: The embeddings (texts, dimension), float32, initially zero.
        processing: Defines whether the encoder itself normalizes, and whether it truncates first.
        normalize: Scale embeddings to length 1 after truncation.
        prompt: The text to put before each text.
        task: `query` or `document`, for the routers of sentence-transformers.
        batch_size: Maximum number of texts per padded batch.
        needs_known_words: Embed every text without a known word to zeros.
    """

    vectors: NDArray[np.float32]
    processing: InputProcessing
    normalize: bool = False
    prompt: str = ""
    task: str | None = None
    batch_size: int = 256
    needs_known_words: bool = False

    def write(self, rows: slice | list[int], embeddings: NDArray[np.float32]) -> None:
        """Truncate and normalize the embeddings of some texts, and store them."""
        truncates_first = self.processing.truncate_first
        if self.processing.normalize and not truncates_first:
            embeddings = unit_rows(embeddings)
        embeddings = embeddings[:, : self.vectors.shape[1]]
        if self.normalize or (self.processing.normalize and truncates_first):
            embeddings = unit_rows(embeddings)
        self.vectors[rows] = embeddings


class Backend(ABC):
    """Computes the embeddings of texts for a :class:`~..sentence_encoder.SentenceEncoder`.

    Attributes:
        model: The PyTorch module, the ONNX session or the sentence-transformers pipeline.
        tokenizer: The tokenizer of transformers.
        dimension: The number of components of an embedding before truncation.
        processing: The steps before the tokenizer and after the model.
        opened_processing: The processing stored in the opened folder; None for a trainable backend.
        uses_accelerator: Whether it computes on a GPU if the machine has one.
    """

    model: Any
    tokenizer: Any
    dimension: int
    processing: InputProcessing
    opened_processing: InputProcessing | None = None
    uses_accelerator = True

    @property
    def is_unchanged(self) -> bool:
        """Whether the opened folder still gives the same embeddings."""
        return self.processing == self.opened_processing

    @property
    def device(self) -> torch.device:
        """The device that computes embeddings."""
        device: torch.device = self.model.device
        return device

    def to(self, device: str | torch.device) -> Backend:
        """Return the backend that computes on a device."""
        try:
            self.model.to(device)
        except (RuntimeError, AssertionError) as error:
            raise UsageError(f"cannot use the device {device}: {error}", remedy="see hf-paraphrase env") from error
        return self

    def as_module(self) -> Backend:
        """Return the same encoder as a PyTorch module over token ids, if it has such a form."""
        return self

    def set_max_seq_length(self, length: int | None) -> None:
        """Change the maximum number of tokens per text."""
        self.processing = self.processing.changed(max_tokens=length)

    @abstractmethod
    def token_ids(self, texts: list[str], prompt: str = "") -> TokenIds:
        """Compute the token ids of texts, special tokens included, without padding."""

    @abstractmethod
    def embed(self, texts: list[str], job: EmbeddingJob) -> Iterator[int]:
        """Fill the vectors of a job, and yield the number of finished texts per step."""

    @abstractmethod
    def save(self, folder: Path, options: Mapping[str, Any]) -> None:
        """Write a model folder that opens with the same embeddings; `options` are prompts, truncation, similarity."""

    def take_warnings(self) -> list[str]:
        """Return new warnings about the texts of the last call."""
        return []


class TokenBackend(Backend):
    """A backend that turns texts into token ids before it embeds them.

    Attributes:
        rust_tokenizer: The tokenizer of the `tokenizers` library, or several that act as one.
        zeroes_unknown_words: Whether a text with only unknown words embeds to zeros.
    """

    rust_tokenizer: Any
    zeroes_unknown_words = True

    def __init__(self, processing: InputProcessing) -> None:
        self.processing = processing
        self._is_word = np.zeros(0, np.int8)

    @property
    def processing(self) -> InputProcessing:
        """The steps before the tokenizer and after the model."""
        return self.batch_tokenizer.processing

    @processing.setter
    def processing(self, processing: InputProcessing) -> None:
        self.batch_tokenizer = BatchTokenizer(processing)

    @abstractmethod
    def special_tokens(self) -> tuple[int | None, list[int]]:
        """Return the id of the unknown token, and the ids of special tokens."""

    def vocabulary(self) -> tuple[dict[str, int], int | None, list[int]]:
        """Return the ids of all tokens by name, the id of the unknown token, and the ids of special tokens."""
        return (self.rust_tokenizer.get_vocab(), *self.special_tokens())

    @abstractmethod
    def embed_tokens(self, tokenize: Tokenize, blocks: list[slice], job: EmbeddingJob) -> Iterator[int]:
        """Fill the vectors of a job as :meth:`embed` does, from the token ids of blocks of texts."""

    def token_ids(self, texts: list[str], prompt: str = "") -> TokenIds:
        """Compute the token ids of texts, special tokens included, without padding."""
        prompted = [prompt + text for text in texts] if prompt else texts
        return TokenIds.joined(self.batch_tokenizer.tokenize(self.rust_tokenizer, prompted))

    def embed(self, texts: list[str], job: EmbeddingJob) -> Iterator[int]:
        """Fill the vectors of a job, and yield the number of finished texts per step."""
        prompted = [job.prompt + text for text in texts] if job.prompt else texts
        tokenize, blocks = self.batch_tokenizer.split_into_blocks(self.rust_tokenizer, prompted)
        if self.zeroes_unknown_words or job.needs_known_words:
            tokenize = self._without_unknown_texts(tokenize, texts if job.prompt else None, job.needs_known_words)
        return self.embed_tokens(tokenize, blocks, job)

    def take_warnings(self) -> list[str]:
        """Return the number of truncated texts, once."""
        tokenizer = self.batch_tokenizer
        if not tokenizer.num_truncated or tokenizer.has_warned:
            return []
        tokenizer.has_warned = True
        limit = self.processing.max_tokens
        return [f"{tokenizer.num_truncated} texts have more than {limit} tokens and are truncated"]

    def _without_unknown_texts(self, tokenize: Tokenize, texts: list[str] | None, checks_all: bool) -> Tokenize:
        """Remove all tokens of texts without a known word, which then embed to zeros.

        `texts` has no prompts, and is None if `tokenize` adds no prompt. Unless `checks_all`, texts without an
        unknown token, such as a lone punctuation mark, keep their tokens.
        """
        unknown_id, _ = self.special_tokens()
        if unknown_id is None:  # every text is known
            return tokenize

        def tokenize_known(rows: slice) -> TokenIds:
            ids, offsets = tokenize(rows)
            checked = np.arange(len(offsets) - 1)
            if not checks_all:
                unknown = np.flatnonzero(ids == unknown_id)
                if not len(unknown):
                    return TokenIds(ids, offsets)
                checked = np.unique(np.searchsorted(offsets, unknown, side="right") - 1)
            plain = TokenIds(ids, offsets).take(checked)
            if texts is not None:
                plain = self.token_ids([texts[rows.start + row] for row in checked.tolist()])
            num_words = np.concatenate([[0], self.mark_known_words(plain.ids).cumsum()])
            lengths = np.diff(offsets)
            is_kept = np.ones(len(lengths), np.bool_)
            is_kept[checked] = np.diff(num_words[plain.offsets]) > 0
            return TokenIds(ids[np.repeat(is_kept, lengths)], ends_of(np.where(is_kept, lengths, 0)))

        return tokenize_known

    def mark_known_words(self, ids: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Return which tokens are known words (tokens,).

        A known word is a token with a letter or a digit that is neither special nor the unknown token.
        """
        unknown_id, special_ids = self.special_tokens()
        others = [*special_ids, *([] if unknown_id is None else [unknown_id])]
        size = max(self.rust_tokenizer.get_vocab_size(), 1 + int(ids.max(initial=0)), *(1 + other for other in others))
        is_word = self._is_word
        if len(is_word) < size:
            # 1 for a known word, 0 for another token, -1 for a token that was not checked yet.
            is_word = np.full(size, -1, np.int8)
            is_word[others] = 0
            # Other threads see the array with its special tokens only.
            self._is_word = is_word
        for token_id in np.unique(ids[is_word[ids] < 0]).tolist():
            token = self.rust_tokenizer.id_to_token(token_id)
            is_word[token_id] = token is not None and _ALPHANUMERIC.search(token) is not None
        return is_word[ids] == 1

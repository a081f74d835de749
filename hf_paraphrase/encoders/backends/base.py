"""What every backend does, and what backends that read token ids share."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...tokenization.ragged_ids import TokenIds, ends_of
from .batch_tokenizer import BatchTokenizer, InputProcessing

if TYPE_CHECKING:
    import torch

Finish = Callable[[NDArray[np.float32]], NDArray[np.float32]]
"""Truncates and normalizes the embeddings (texts, dimension) of a batch."""
Tokenize = Callable[[slice], TokenIds]
"""Computes the token ids of a block of texts."""
_ALPHANUMERIC = re.compile(r"[^\W_]")


class Backend(ABC):
    """Computes the embeddings of texts for a :class:`~..sentence_encoder.SentenceEncoder`.

    Attributes:
        processing: What happens to texts before the tokenizer and to embeddings after the model.
        model: The PyTorch module, the ONNX session or the sentence-transformers pipeline.
        is_unchanged: Whether the folder that was opened still gives the same embeddings.
        uses_accelerator: Whether it computes on a GPU where there is one.
    """

    processing: InputProcessing
    is_unchanged = False
    uses_accelerator = True

    @property
    @abstractmethod
    def model(self) -> Any:
        """The model; reading it changes nothing."""

    @property
    @abstractmethod
    def tokenizer(self) -> Any:
        """The tokenizer of transformers; reading it changes nothing."""

    @property
    @abstractmethod
    def dimension(self) -> int:
        """The number of components of an embedding before truncation."""

    @property
    @abstractmethod
    def device(self) -> torch.device:
        """The device that computes embeddings."""

    @property
    def max_seq_length(self) -> int | None:
        """The maximum number of tokens per text, special tokens included; None for no limit."""
        return self.processing.max_tokens

    def set_max_seq_length(self, length: int | None) -> None:
        """Change the maximum number of tokens per text."""
        self.processing = self.processing.changed(max_tokens=length)

    @abstractmethod
    def to(self, device: str | torch.device) -> Backend:
        """Return the backend that computes on a device."""

    @abstractmethod
    def token_ids(self, texts: list[str], prompt: str = "") -> TokenIds:
        """Compute the token ids of texts, special tokens included, without padding."""

    @abstractmethod
    def embed(
        self,
        texts: list[str],
        vectors: NDArray[np.float32],
        finish: Finish,
        *,
        prompt: str = "",
        task: str | None = None,
        batch_size: int = 256,
        needs_known_words: bool = False,
    ) -> Iterator[int]:
        """Fill `vectors` (texts, dimension), initially zero, and yield the number of finished texts per step."""

    @abstractmethod
    def save(self, folder: Path, options: Mapping[str, Any]) -> None:
        """Write a model folder that opens with the same embeddings; `options` are prompts, truncation, similarity."""

    def take_warnings(self) -> list[str]:
        """Return what the user should know about the texts of the last call, each message once."""
        return []


class TokenBackend(Backend):
    """A backend that turns texts into token ids before it embeds them."""

    def __init__(self, processing: InputProcessing) -> None:
        self.processing = processing
        self._known: tuple[int, NDArray[np.bool_] | None] | None = None

    @property
    def processing(self) -> InputProcessing:
        """What happens to texts before the tokenizer and to embeddings after the model."""
        return self.batch_tokenizer.processing

    @processing.setter
    def processing(self, processing: InputProcessing) -> None:
        self.batch_tokenizer = BatchTokenizer(processing)

    @property
    @abstractmethod
    def rust_tokenizer(self) -> Any:
        """The tokenizer of the `tokenizers` library, or several that act as one."""

    @property
    def zeroes_unknown_words(self) -> bool:
        """Whether a text of unknown words only embeds to zeros."""
        return True

    @abstractmethod
    def vocabulary(self) -> tuple[dict[str, int], int | None, list[int]]:
        """Return the ids of all tokens by name, the id of the unknown token, and the ids of special tokens."""

    @abstractmethod
    def embed_tokens(
        self,
        tokenize: Tokenize,
        blocks: list[slice],
        vectors: NDArray[np.float32],
        finish: Finish,
        *,
        prompt: str = "",
        batch_size: int = 256,
    ) -> Iterator[int]:
        """Fill `vectors` as :meth:`embed` does, from the token ids of blocks of texts."""

    def token_ids(self, texts: list[str], prompt: str = "") -> TokenIds:
        """Compute the token ids of texts, special tokens included, without padding."""
        prompted = [prompt + text for text in texts] if prompt else texts
        return TokenIds.joined(self.batch_tokenizer.tokenize(self.rust_tokenizer, prompted))

    def embed(
        self,
        texts: list[str],
        vectors: NDArray[np.float32],
        finish: Finish,
        *,
        prompt: str = "",
        task: str | None = None,
        batch_size: int = 256,
        needs_known_words: bool = False,
    ) -> Iterator[int]:
        """Fill `vectors` (texts, dimension); see :class:`Backend`."""
        prompted = [prompt + text for text in texts] if prompt else texts
        tokenize, blocks = self.batch_tokenizer.split_into_blocks(self.rust_tokenizer, prompted)
        if self.zeroes_unknown_words or needs_known_words:
            tokenize = self._without_unknown_texts(tokenize, texts if prompt else None, needs_known_words)
        return self.embed_tokens(tokenize, blocks, vectors, finish, prompt=prompt, batch_size=batch_size)

    def take_warnings(self) -> list[str]:
        """Return the number of truncated texts, once."""
        tokenizer = self.batch_tokenizer
        if not tokenizer.num_truncated or tokenizer.has_warned:
            return []
        tokenizer.has_warned = True
        return [f"{tokenizer.num_truncated} texts have more than {self.max_seq_length} tokens and are truncated"]

    def _without_unknown_texts(self, tokenize: Tokenize, texts: list[str] | None, checks_all: bool) -> Tokenize:
        """Remove all tokens of texts without a known word, which then embed to zeros.

        `texts` are those without the prompt, where there is one. Unless `checks_all`, texts without an unknown token,
        such as a lone punctuation mark, keep their tokens.
        """
        is_word, unknown_id = self.known_words()
        if is_word is None:
            return tokenize

        def tokenize_known(rows: slice) -> TokenIds:
            ids, offsets = tokenize(rows)
            if checks_all:
                checked = np.arange(len(offsets) - 1)
            else:
                unknown = np.flatnonzero(ids == unknown_id)
                if not len(unknown):
                    return TokenIds(ids, offsets)
                checked = np.unique(np.searchsorted(offsets, unknown, side="right") - 1)
            plain = TokenIds(ids, offsets).take(checked)
            if texts is not None:
                plain = self.token_ids([texts[rows.start + row] for row in checked.tolist()])
            num_words = np.concatenate([[0], is_word[plain.ids].cumsum()])
            empty = checked[num_words[plain.offsets[1:]] == num_words[plain.offsets[:-1]]]
            lengths = np.diff(offsets)
            is_kept = np.ones(len(lengths), np.bool_)
            is_kept[empty] = False
            return TokenIds(ids[np.repeat(is_kept, lengths)], ends_of(np.where(is_kept, lengths, 0)))

        return tokenize_known

    def known_words(self) -> tuple[NDArray[np.bool_] | None, int | None]:
        """Return which tokens are known words (tokens,), or None, and the id of the unknown token.

        A known word is a token with a letter or a digit that is neither special nor the unknown token. Without an
        unknown token every text is known.
        """
        size = self.rust_tokenizer.get_vocab_size()
        if self._known is None or self._known[0] != size:
            vocabulary, unknown_id, special_ids = self.vocabulary()
            is_word = None
            if unknown_id is not None:
                is_word = np.zeros(max(vocabulary.values()) + 1, np.bool_)
                is_word[[token_id for token, token_id in vocabulary.items() if _ALPHANUMERIC.search(token)]] = True
                is_word[[unknown_id, *special_ids]] = False
            self._known, self._unknown_id = (size, is_word), unknown_id
        return self._known[1], self._unknown_id

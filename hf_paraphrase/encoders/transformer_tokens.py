"""The token ids of texts as a transformer reads them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ..tokenization.token_ids import TokenIds


class TransformerTokens:
    """Computes token ids with special tokens, the prompt and truncation, in the place of `TextTokens`.

    Attributes:
        most_tokens: How many tokens are read, special ones among them; None for all.
        normalizes: Whether embeddings always have the length 1.
        truncated: How many texts were longer.
    """

    def __init__(
        self,
        tokenizer: Any,
        most_tokens: int | None,
        *,
        prompt: str = "",
        lower_case: bool = False,
        normalizes: bool = False,
    ) -> None:
        self.tokenizer, self.most_tokens, self.prompt = tokenizer, most_tokens, prompt
        self.lower_case, self.normalizes = lower_case, normalizes
        self.truncated = 0

    @property
    def reading(self) -> TransformerTokens:
        """What is done with texts and embeddings."""
        return self

    def lists(self, texts: list[str]) -> list[list[int]]:
        """Computes the ids of each text."""
        texts = [self.prompt + text for text in texts]
        if self.lower_case:
            texts = [text.lower() for text in texts]
        backend = self.tokenizer.backend_tokenizer
        backend.no_padding()
        backend.no_truncation()
        if self.most_tokens is not None:
            backend.enable_truncation(self.most_tokens)
        encoded = backend.encode_batch_fast(texts, add_special_tokens=True)
        backend.no_truncation()
        self.truncated += sum(bool(item.overflowing) for item in encoded)
        return [item.ids for item in encoded]

    def blocks(self, texts: list[str]) -> Iterator[TokenIds]:
        """Computes the ids block by block."""
        yield TokenIds.of_lists(self.lists(texts))

    def in_blocks(self, texts: list[str]) -> tuple[Callable[[slice], TokenIds], list[slice]]:
        """Tells how to tokenise some texts: all at once, since the library has threads of its own."""
        return lambda rows: TokenIds.of_lists(self.lists(texts[rows])), [slice(0, len(texts))]

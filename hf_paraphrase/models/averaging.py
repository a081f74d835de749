"""The base class of encoders that average token vectors; saved with their weights."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from .word_vectors import WordVectorModel


class AveragingModel(WordVectorModel):
    """Means of token vectors, `embeddings` (vocab_size, columns)."""

    def __init__(self, config: Any, columns: int) -> None:
        if getattr(config, "embedding_dtype", None) == "int8":
            raise ValueError(
                "the vectors of this folder are int8, with one scale per row: hf_paraphrase.SentenceEncoder opens it, "
                "and its save_pretrained writes a folder for AutoModel"
            )
        super().__init__(config)
        self.embeddings = nn.Parameter(torch.empty(config.vocab_size, columns))

    def _vectors_and_mean(
        self, input_ids: Tensor, mask: Tensor, return_token_vectors: bool
    ) -> tuple[Tensor | None, Tensor]:
        """Compute the token vectors (batch, length, hidden_size) or None, and their mean (batch, hidden_size)."""
        lengths = mask.sum(1)
        keep: Tensor | None = None
        word_dropout = getattr(self.config, "word_dropout", 0.0)
        if self.training and word_dropout > 0:
            keep = functional.dropout(self.embeddings.new_ones(input_ids.shape), word_dropout)
        elementwise = self.training and self.config.dropout > 0
        needed = return_token_vectors or elementwise
        vectors = self._token_vectors(input_ids, mask, lengths, keep) if needed else None
        if elementwise and vectors is not None:
            # Dropout leaves zeros at zero.
            vectors = functional.dropout(vectors, self.config.dropout)
            mean = vectors.sum(1) / lengths.clamp_min(1).unsqueeze(1).to(vectors.dtype)
        else:
            mean = self._means(input_ids[mask], lengths, None if keep is None else keep[mask])
        return vectors if return_token_vectors else None, mean

    def _token_vectors(self, input_ids: Tensor, mask: Tensor, lengths: Tensor, keep: Tensor | None) -> Tensor:
        """Compute the token vectors (batch, length, hidden_size); `keep` (batch, length) scales each, None for 1."""
        vectors = functional.embedding(input_ids, self.embeddings, sparse=self.sparse_gradients)
        vectors = vectors * mask.unsqueeze(2)
        return vectors if keep is None else vectors * keep.unsqueeze(2)

    def _means(self, tokens: Tensor, lengths: Tensor, keep: Tensor | None) -> Tensor:
        """Compute means of sentences of `lengths` (batch,) over concatenated `tokens` (total,) times `keep`."""
        if tokens.numel() == 0:
            return self.embeddings.new_zeros(lengths.shape[0], self.embeddings.shape[1])
        offsets = lengths.cumsum(0) - lengths
        mode = "mean" if keep is None else "sum"
        bags = functional.embedding_bag(
            tokens, self.embeddings, offsets, mode=mode, per_sample_weights=keep, sparse=self.sparse_gradients
        )
        return bags if keep is None else bags / lengths.clamp_min(1).unsqueeze(1).to(bags.dtype)

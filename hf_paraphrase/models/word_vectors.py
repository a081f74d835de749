"""The base classes of models with a table of word vectors, and of models that average them; saved with the weights."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import PreTrainedModel, initialization


class WordVectorModel(PreTrainedModel):
    """A model whose word vectors are a parameter, by default `embeddings` (vocab_size, dim).

    Word vectors start from N(0, `initializer_range`), or uniform in ± `initializer_range` with
    `initial_distribution="uniform"`, and zero for padding. Recurrent matrices start orthogonal and other matrices
    Xavier uniform. Biases start at 0. Subclasses may override :meth:`_draw`.

    Attributes:
        sparse_gradients: Whether the gradient of `embeddings` is a sparse tensor. A training switch, not saved.
    """

    main_input_name = "input_ids"
    embeddings_name = "embeddings"
    sparse_gradients = False
    embeddings: nn.Parameter
    # As `register_for_auto_class` sets it: the code is saved with the weights.
    _auto_class = "AutoModel"

    def get_input_embeddings(self) -> nn.Embedding:
        """Return a layer whose weight is the parameter itself."""
        return embedding_layer(getattr(self, self.embeddings_name))

    def set_input_embeddings(self, value: nn.Module) -> None:
        """Set the weight of an embedding layer as the parameter."""
        setattr(self, self.embeddings_name, value.weight)

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        if isinstance(module, nn.Embedding):  # transformers makes one to resize the word vectors
            super()._init_weights(module)
            return
        size: Any = module.hidden_size if isinstance(module, nn.RNNBase) else getattr(module, "size", None)
        for name, parameter in module.named_parameters(recurse=False):
            values = torch.zeros_like(parameter)
            if name.endswith("embeddings"):
                bound = self.config.initializer_range
                uniform = getattr(self.config, "initial_distribution", "normal") == "uniform"
                values.uniform_(-bound, bound) if uniform else values.normal_(0.0, bound)
                if isinstance(module, WordVectorModel) and self.config.pad_token_id is not None:
                    values[self.config.pad_token_id] = 0.0
            elif "bias" not in name:
                self._draw(values, name, size or len(values))
            # This function skips loaded weights.
            initialization.copy_(parameter, values)

    def _draw(self, values: Tensor, name: str, rows: int) -> None:
        """Draw a parameter, which stacks matrices of `rows` rows."""
        for matrix in values.split(rows):
            if name.startswith("weight_hh"):
                initialization.orthogonal_(matrix)
            else:
                initialization.xavier_uniform_(matrix)


class AveragingModel(WordVectorModel):
    """The means of token vectors, `embeddings` (vocab_size, columns)."""

    def __init__(self, config: Any, columns: int) -> None:
        if (stored := getattr(config, "embedding_dtype", None)) in ("int8", "int4"):
            raise ValueError(
                f"the vectors of this folder are {stored}, with a scale per row: hf_paraphrase.SentenceEncoder opens "
                "it, and its save_pretrained writes a folder for AutoModel"
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
        vectors: Tensor | None = None
        if return_token_vectors or elementwise:
            vectors = self._token_vectors(input_ids, mask, lengths, keep)
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


def embedding_layer(vectors: nn.Parameter) -> nn.Embedding:
    """Return an embedding layer whose weight is the given parameter (words, dim)."""
    words, dim = vectors.shape
    layer = nn.Embedding(words, dim, _weight=vectors.detach())
    layer.weight = vectors
    return layer


def present_tokens(input_ids: Tensor, attention_mask: Tensor | None, config: Any) -> Tensor:
    """Return a mask of the tokens that are not padding (batch, length)."""
    if attention_mask is not None:
        return attention_mask.bool()
    if config.pad_token_id is None:
        return torch.ones_like(input_ids, dtype=torch.bool)
    return input_ids != config.pad_token_id


def counted_tokens(input_ids: Tensor, attention_mask: Tensor | None, config: Any) -> tuple[Tensor, Tensor]:
    """Return masks of the tokens that are not padding and of the tokens that count (batch, length).

    With `skip_unknown` unknown words count only in sentences of unknown words.
    """
    mask = present_tokens(input_ids, attention_mask, config)
    if not config.skip_unknown:
        return mask, mask
    counted = mask & (input_ids != config.unk_token_id)
    return mask, torch.where(counted.any(1, keepdim=True), counted, mask)

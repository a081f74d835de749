"""The base class of models with a table of word vectors; saved with their weights."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel, initialization


class WordVectorModel(PreTrainedModel):
    """A model whose word vectors are a parameter, by default `embeddings` (vocab_size, dim).

    Word vectors start from N(0, `initializer_range`), or uniform in ± `initializer_range` with
    `initial_distribution="uniform"`, and zero for padding. Recurrent matrices start orthogonal and other matrices
    Xavier uniform. Biases start at 0, the bias of the forget gate at 1. Subclasses may override :meth:`_draw`.

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
        weight = value.weight
        assert isinstance(weight, nn.Parameter)
        setattr(self, self.embeddings_name, weight)

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
            elif isinstance(module, nn.LSTM):
                values[size : 2 * size] = 0.5  # two biases are added to one another
            # This function skips loaded weights.
            initialization.copy_(parameter, values)

    def _draw(self, values: Tensor, name: str, rows: int) -> None:
        """Draw a parameter, which stacks matrices of `rows` rows."""
        for matrix in values.split(rows):
            if name.startswith("weight_hh"):
                initialization.orthogonal_(matrix)
            else:
                initialization.xavier_uniform_(matrix)


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
    is_known = mask & (input_ids != config.unk_token_id)
    return mask, torch.where(is_known.any(1, keepdim=True), is_known, mask)

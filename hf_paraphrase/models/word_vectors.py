"""What models with a table of word vectors have in common; it travels with their weights."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel, initialization


class WordVectorModel(PreTrainedModel):
    """A model whose word vectors are a parameter of its own, by default `embeddings` (vocab_size, dim).

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
        """Returns a layer whose weight is the parameter itself."""
        return embedding_layer(getattr(self, self.embeddings_name))

    def set_input_embeddings(self, value: nn.Module) -> None:
        """Takes over the weight of an embedding layer."""
        weight = value.weight
        assert isinstance(weight, nn.Parameter)
        setattr(self, self.embeddings_name, weight)


def embedding_layer(vectors: nn.Parameter) -> nn.Embedding:
    """Returns an embedding layer whose weight is the given parameter (words, dim)."""
    words, dim = vectors.shape
    layer = nn.Embedding(words, dim, _weight=vectors.detach())
    layer.weight = vectors
    return layer


@torch.no_grad()
def initialize_word_vectors(embeddings: nn.Parameter, config: Any, *, uniform: bool = False) -> None:
    """Draws the initial word vectors; that of padding is zero.

    The configuration's `initializer_range` is the standard deviation, or the bound of a uniform distribution.
    """
    vectors = torch.empty_like(embeddings)
    bound = config.initializer_range
    if uniform:
        vectors.uniform_(-bound, bound)
    else:
        vectors.normal_(0.0, bound)
    if config.pad_token_id is not None:
        vectors[config.pad_token_id] = 0.0
    initialization.copy_(embeddings, vectors)


@torch.no_grad()
def initialize_recurrent(layer: nn.RNNBase, *, forget_bias: float = 0.0) -> None:
    """Draws each gate's matrices, Xavier uniform or of states orthogonal, and biases, 0 but that of forgetting."""
    size = layer.hidden_size
    for name, parameter in layer.named_parameters(recurse=False):
        values = torch.zeros_like(parameter)
        if name.startswith("bias"):
            # Gates are in the order input, forget, …; two biases are added to one another.
            values[size : 2 * size] = forget_bias / 2
        for gate in values.split(size) if values.dim() == 2 else ():
            if name.startswith("weight_hh"):
                initialization.orthogonal_(gate)
            else:
                initialization.xavier_uniform_(gate)
        initialization.copy_(parameter, values)


def present_tokens(input_ids: Tensor, attention_mask: Tensor | None, config: Any) -> Tensor:
    """Returns which tokens of a batch are no padding (batch, length), by the mask or by `config.pad_token_id`."""
    if attention_mask is not None:
        return attention_mask.bool()
    if config.pad_token_id is None:
        return torch.ones_like(input_ids, dtype=torch.bool)
    return input_ids != config.pad_token_id


def counted_tokens(input_ids: Tensor, attention_mask: Tensor | None, config: Any) -> tuple[Tensor, Tensor]:
    """Returns which tokens of a batch are no padding, and which of them count, both (batch, length).

    They differ only with `skip_unknown`, which leaves out unknown words of sentences that have others.
    """
    mask = present_tokens(input_ids, attention_mask, config)
    if not config.skip_unknown:
        return mask, mask
    is_known = mask & (input_ids != config.unk_token_id)
    return mask, torch.where(is_known.any(1, keepdim=True), is_known, mask)

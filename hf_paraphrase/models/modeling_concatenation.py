"""The concatenation of averaging encoders; saved with its weights."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers.modeling_outputs import BaseModelOutputWithPooling
from transformers.utils import can_return_tuple

from .configurations import ConcatenationConfig
from .word_vectors import AveragingModel, present_tokens


class ConcatenationModel(AveragingModel):
    """The concatenated means of several kinds of token vectors (Wieting and Gimpel 2018, section 4.1, "concat").

        g(s) = [mean of the word vectors of s; mean of the trigram vectors of s]

    One loss on the whole vector g trains all parts. A sequence has the tokens of all parts in any order; the id of a
    token determines its part. The only parameter is `embeddings` (sum of the vocabularies, part_size), so every
    trainer of `AvgModel` works for this model.

    With `part_weights` w in the configuration each mean m_k has the Euclidean norm sqrt(w_k / Σw); zero stays zero:

        g(s) = [sqrt(w_1 / Σw) m_1(s) / |m_1(s)|; sqrt(w_2 / Σw) m_2(s) / |m_2(s)|; ...]

    The cosine of two sentences is then the mean of the cosines of their parts, weighted by w. Parts without tokens are
    left out of the mean.
    """

    config_class = ConcatenationConfig
    base_model_prefix = "concatenation"

    def __init__(self, config: ConcatenationConfig) -> None:
        super().__init__(config, config.part_size)
        self.post_init()

    def resize_token_embeddings(self, new_num_tokens: int | None = None, *args: Any, **kwargs: Any) -> nn.Embedding:
        """Resize the last part of the embeddings."""
        sizes = self.config.vocab_sizes
        if new_num_tokens is not None and new_num_tokens <= sum(sizes[:-1]):
            raise ValueError(f"{new_num_tokens} tokens would leave none to the last of the parts, of sizes {sizes}")
        layer: nn.Embedding = super().resize_token_embeddings(new_num_tokens, *args, **kwargs)
        sizes[-1] += layer.weight.shape[0] - sum(sizes)
        return layer

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        return_token_vectors: bool = True,
        **kwargs: Any,
    ) -> BaseModelOutputWithPooling:
        """Embed a batch of sentences of token ids of all parts (batch, length); see `AvgModel` for the arguments.

        Returns:
            `pooler_output` (batch, hidden_size), the concatenated means of the parts, zero for a part without tokens;
            and `last_hidden_state` (batch, length, hidden_size), each token's vector in the columns of its part and
            zeros elsewhere. The vectors are scaled so that their mean over the tokens is `pooler_output`.
        """
        mask = present_tokens(input_ids, attention_mask, self.config)
        token_vectors, pooled = self._vectors_and_mean(input_ids, mask, return_token_vectors)
        if self.config.part_weights is not None:
            weights = pooled.new_tensor(self.config.part_weights)
            norms = torch.linalg.vector_norm(pooled.unflatten(1, (-1, self.config.part_size)), dim=2)
            factors = (weights / weights.sum()).sqrt() / torch.where(norms > 0, norms, torch.ones_like(norms))
            factors = factors.repeat_interleave(self.config.part_size, dim=1)
            pooled = pooled * factors
            token_vectors = None if token_vectors is None else token_vectors * factors.unsqueeze(1)
        return BaseModelOutputWithPooling(last_hidden_state=token_vectors, pooler_output=pooled)

    def _part_of(self, tokens: Tensor) -> Tensor:
        """Return the part of each id, of any shape."""
        ends = torch.tensor(self.config.vocab_sizes, device=tokens.device).cumsum(0)
        return torch.searchsorted(ends, tokens.contiguous(), right=True)

    def _token_vectors(self, input_ids: Tensor, mask: Tensor, lengths: Tensor, keep: Tensor | None) -> Tensor:
        vectors = super()._token_vectors(input_ids, mask, lengths, keep)
        parts = len(self.config.vocab_sizes)
        of_part = functional.one_hot(self._part_of(input_ids), parts) * mask.unsqueeze(2)
        scale = lengths.unsqueeze(1) / of_part.sum(1).clamp_min(1)
        weights = of_part.to(vectors.dtype) * scale.unsqueeze(1).to(vectors.dtype)
        return (weights.unsqueeze(3) * vectors.unsqueeze(2)).flatten(2)

    def _means(self, tokens: Tensor, lengths: Tensor, keep: Tensor | None) -> Tensor:
        parts = len(self.config.vocab_sizes)
        first = torch.arange(0, len(lengths) * parts, parts, device=tokens.device)
        bag = torch.repeat_interleave(first, lengths) + self._part_of(tokens)
        if (bag[1:] < bag[:-1]).any():
            # Our tokenizer returns the tokens part by part; other callers need not.
            bag, order = bag.sort(stable=True)
            tokens = tokens[order]
            keep = None if keep is None else keep[order]
        counts = torch.bincount(bag, minlength=len(lengths) * parts)
        return super()._means(tokens, counts, keep).unflatten(0, (len(lengths), parts)).flatten(1)

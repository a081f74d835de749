"""The word-averaging sentence encoder, in one file that travels with its weights."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import PreTrainedModel, initialization
from transformers.modeling_outputs import BaseModelOutputWithPooling

from .configuration_avg import AvgConfig


class AvgModel(PreTrainedModel):
    """The mean of the word vectors of a sentence (paper 000, section 4.1; Wieting et al. 2016).

    The only parameter is `embeddings` (vocab_size, hidden_size), by that name, so that one folder opens with
    `AutoModel`, sentence-transformers (`StaticEmbedding`) and model2vec. It starts from a normal distribution with the
    configuration's `initializer_range` as standard deviation, or from a uniform one between minus and plus that, by
    its `initial_distribution`; the padding row is zero.

    With the configuration's `skip_unknown` the mean leaves unknown words out, unless a sentence has no other word. The
    other two readers of the folder know no such setting, so they agree with this class as follows. Where
    `skip_unknown` is false: sentence-transformers agrees; model2vec, which always drops unknown words, agrees on
    sentences without any. Where it is true: model2vec agrees, but embeds a sentence of nothing but unknown words to
    zeros; sentence-transformers agrees on sentences without unknown words and counts their row in others.

    Attributes:
        sparse_gradients: Whether the gradient of `embeddings` is a sparse tensor. A training switch, false by default,
            that is not saved. Element-wise dropout and token vectors obey it too.
    """

    config_class = AvgConfig
    base_model_prefix = "avg"
    main_input_name = "input_ids"
    sparse_gradients = False

    def __init__(self, config: AvgConfig) -> None:
        if getattr(config, "embedding_dtype", None) == "int8":
            raise ValueError(
                "the vectors of this folder are int8, with a scale a row: hf_paraphrase.SentenceEncoder opens it, and "
                "its save_pretrained writes a folder for AutoModel"
            )
        super().__init__(config)
        self.embeddings = nn.Parameter(torch.empty(config.vocab_size, config.hidden_size))
        self.post_init()

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        if isinstance(module, AvgModel):
            vectors = torch.empty_like(module.embeddings)
            bound = self.config.initializer_range
            if self.config.initial_distribution == "uniform":
                vectors.uniform_(-bound, bound)
            else:
                vectors.normal_(0.0, bound)
            if self.config.pad_token_id is not None:
                vectors[self.config.pad_token_id] = 0.0
            initialization.copy_(module.embeddings, vectors)

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        return_token_vectors: bool = True,
        return_dict: bool | None = None,
        **kwargs: Any,
    ) -> BaseModelOutputWithPooling | tuple[Tensor | None, Tensor]:
        """Embeds a batch of sentences.

        Args:
            input_ids: Token ids (batch, length).
            attention_mask: True or non-zero where a token counts (batch, length); None counts all that is not padding.
                The padding may be on any side: each mean is taken over the counted tokens alone and in their order,
                so the result is the same to the last bit. Whether unknown words count is not its affair.
            return_token_vectors: False leaves `last_hidden_state` out and saves its (batch, length, hidden_size).
            return_dict: False gives a tuple.
            **kwargs: Other fields that a tokenizer may give, e.g. `token_type_ids`; they have no meaning here.

        Returns:
            `last_hidden_state` (batch, length, hidden_size), the word vectors, zero at padding, and `pooler_output`
            (batch, hidden_size), their mean. A sentence without tokens embeds to zeros. At a skipped unknown word the
            first holds the mean of the sentence, which leaves the mean over all tokens as it is.
        """
        if attention_mask is None:
            mask = torch.ones_like(input_ids, dtype=torch.bool)
            if self.config.pad_token_id is not None:
                mask = input_ids != self.config.pad_token_id
        else:
            mask = attention_mask.bool()
        given = mask
        if self.config.skip_unknown:
            known = mask & (input_ids != self.config.unk_token_id)
            mask = torch.where(known.any(1, keepdim=True), known, mask)
        lengths = mask.sum(1)
        token_vectors: Tensor | None = None
        keep: Tensor | None = None
        if self.training and self.config.word_dropout > 0:
            keep = functional.dropout(self.embeddings.new_ones(input_ids.shape), self.config.word_dropout)
        elementwise = self.training and self.config.dropout > 0
        if return_token_vectors or elementwise:
            token_vectors = functional.embedding(input_ids, self.embeddings, sparse=self.sparse_gradients)
            token_vectors = token_vectors * mask.unsqueeze(2)
            if keep is not None:
                token_vectors = token_vectors * keep.unsqueeze(2)
        if elementwise and token_vectors is not None:
            token_vectors = functional.dropout(token_vectors, self.config.dropout)
            pooled = token_vectors.sum(1) / lengths.clamp_min(1).unsqueeze(1).to(token_vectors.dtype)
        else:
            pooled = self._mean(input_ids[mask], lengths, None if keep is None else keep[mask])
        if not return_token_vectors:
            token_vectors = None
        elif token_vectors is not None and self.config.skip_unknown:
            token_vectors = torch.where((given & ~mask).unsqueeze(2), pooled.unsqueeze(1), token_vectors)
        if return_dict is False:
            return token_vectors, pooled
        return BaseModelOutputWithPooling(last_hidden_state=token_vectors, pooler_output=pooled)

    def mean_of_words(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        """Embeds sentences whose tokens are laid end to end, as they are after training: without any dropout.

        Args:
            tokens: The token ids of all sentences (total,).
            lengths: The number of tokens of each sentence (sentences,); they add up to total.

        Returns:
            The means (sentences, hidden_size), equal to the last bit to `pooler_output` of a padded batch.
        """
        if self.config.skip_unknown:
            known = tokens != self.config.unk_token_id
            rows = torch.repeat_interleave(lengths)
            counts = torch.zeros_like(lengths).index_add_(0, rows, known.to(lengths.dtype))
            nothing_else = counts == 0
            tokens = tokens[known | nothing_else[rows]]
            lengths = torch.where(nothing_else, lengths, counts)
        return self._mean(tokens, lengths, None)

    def _mean(self, tokens: Tensor, lengths: Tensor, keep: Tensor | None) -> Tensor:
        """Computes means (batch, hidden_size) over `tokens` (total,) laid end to end, weighted by `keep` (total,)."""
        offsets = lengths.cumsum(0) - lengths
        if tokens.numel() == 0:
            return self.embeddings.new_zeros(lengths.shape[0], self.embeddings.shape[1])
        if keep is None:
            return functional.embedding_bag(
                tokens, self.embeddings, offsets, mode="mean", sparse=self.sparse_gradients
            )
        total = functional.embedding_bag(
            tokens, self.embeddings, offsets, mode="sum", per_sample_weights=keep, sparse=self.sparse_gradients
        )
        return total / lengths.clamp_min(1).unsqueeze(1).to(total.dtype)


AvgModel.register_for_auto_class("AutoModel")

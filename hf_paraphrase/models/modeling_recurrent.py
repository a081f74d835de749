"""Recurrent sentence encoders; saved with their weights."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from transformers.modeling_outputs import BaseModelOutputWithPooling
from transformers.utils import can_return_tuple

# A file that only an imported file imports must be imported here too, or it would not travel with the weights.
from .base_configuration import RecurrentLayersConfig as RecurrentLayersConfig
from .configuration_recurrent import RecurrentConfig
from .packed_sentences import PackedSentences
from .recurrent_cells import BiaslessGateGru as BiaslessGateGru
from .recurrent_layers import RecurrentWordModel
from .word_vectors import counted_tokens


class RecurrentModel(RecurrentWordModel):
    """The last state of a recurrent network, or the mean of its states (Wieting et al. 2016).

    The paper's LSTM has `cell="lstm"` and `pooling="last"`, its LSTM-average `pooling="mean"`. The cells are the same
    as in `GranModel`. With `bidirectional` a second network reads each sentence from its end.

    The mean of `last_hidden_state` over the tokens is the sentence embedding, so that mean pooling in
    sentence-transformers computes the same vectors. With `pooling="mean"` it holds the states h_t. With
    `pooling="last"` it holds n (h_t - h_{t-1}) for a sentence of n tokens (h_0 = 0).

    Attributes:
        embeddings: The word vectors (vocab_size, embedding_size).
    """

    config_class = RecurrentConfig
    base_model_prefix = "recurrent_encoder"

    def __init__(self, config: RecurrentConfig) -> None:
        assert config.embedding_size is not None
        halved = config.bidirectional and config.direction_merge == "concat"
        super().__init__(config, config.embedding_size, config.hidden_size // 2 if halved else config.hidden_size)
        self.post_init()

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        return_token_vectors: bool = True,
        **kwargs: Any,
    ) -> BaseModelOutputWithPooling:
        """Embed a batch of sentences; see `AvgModel` for the arguments. Padding changes nothing beyond rounding.

        Returns:
            `last_hidden_state` (batch, length, hidden_size), see the class, zero at padding, and `pooler_output`
            (batch, hidden_size), the sentence embedding and its mean. A sentence without tokens embeds to zeros. With
            `skip_unknown` the vectors of skipped words are zero, and counted words are scaled as in `GranModel`.
        """
        mask, counted = counted_tokens(input_ids, attention_mask, self.config)
        sentences = PackedSentences.of_mask(counted)
        vectors = functional.embedding(sentences.pack(input_ids), self.embeddings, sparse=self.sparse_gradients)
        parts = self._states(self._dropped(vectors, sentences), sentences)
        last = self.config.pooling == "last"
        pooled = self._merged([sentences.last(part) if last else sentences.mean(part) for part in parts])
        token_vectors = None
        if return_token_vectors:
            terms = [sentences.token_increments(part) for part in parts] if last else parts
            shown = mask if self.config.skip_unknown else None
            token_vectors = sentences.unpack(self._merged(terms, sentences), shown)
        return BaseModelOutputWithPooling(last_hidden_state=token_vectors, pooler_output=pooled)

    def _merged(self, parts: list[Tensor], sentences: PackedSentences | None = None) -> Tensor:
        """Merge the vectors of both directions; `sentences` reverses token vectors of the backward network."""
        if len(parts) == 1:
            return parts[0]
        first, second = parts
        if sentences is not None:
            second = second[sentences.reversal()]
        return torch.cat([first, second], dim=1) if self.config.direction_merge == "concat" else first + second

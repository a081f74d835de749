"""The word-averaging sentence encoder, in files that travel with its weights."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from transformers.modeling_outputs import BaseModelOutputWithPooling
from transformers.utils import can_return_tuple

from .averaging import AveragingModel

# A file that only an imported file imports must be imported here too, or it would not travel with the weights.
from .base_configuration import ModelConfig as ModelConfig
from .configuration_avg import AvgConfig
from .word_vectors import counted_tokens


class AvgModel(AveragingModel):
    """The mean of the word vectors of a sentence (paper 000, section 4.1; Wieting et al. 2016).

    The only parameter is `embeddings` (vocab_size, hidden_size), by that name, so that one folder opens with
    `AutoModel`, sentence-transformers (`StaticEmbedding`) and model2vec.

    With the configuration's `skip_unknown` the mean leaves unknown words out, unless a sentence has no other word. The
    other two readers know no such setting: sentence-transformers always counts unknown words, and model2vec always
    drops them, also where a sentence has no other, which it embeds to zeros.
    """

    config_class = AvgConfig
    base_model_prefix = "avg"

    def __init__(self, config: AvgConfig) -> None:
        super().__init__(config, config.hidden_size)
        self.post_init()

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        return_token_vectors: bool = True,
        **kwargs: Any,
    ) -> BaseModelOutputWithPooling:
        """Embeds a batch of sentences.

        Args:
            input_ids: Token ids (batch, length).
            attention_mask: True or non-zero where a token counts (batch, length); None counts all that is not padding.
                The padding may be on any side and changes no bit of the result.
            return_token_vectors: False leaves `last_hidden_state` out and saves its (batch, length, hidden_size).
            **kwargs: Ignored, as other fields that a tokenizer may give.

        Returns:
            `last_hidden_state` (batch, length, hidden_size), the word vectors, zero at padding, and `pooler_output`
            (batch, hidden_size), their mean. A sentence without tokens embeds to zeros. At a skipped unknown word the
            first holds the mean of the sentence, which leaves the mean over all tokens as it is.
        """
        given, mask = counted_tokens(input_ids, attention_mask, self.config)
        token_vectors, pooled = self._vectors_and_mean(input_ids, mask, return_token_vectors)
        if token_vectors is not None and self.config.skip_unknown:
            token_vectors = torch.where((given & ~mask).unsqueeze(2), pooled.unsqueeze(1), token_vectors)
        return BaseModelOutputWithPooling(last_hidden_state=token_vectors, pooler_output=pooled)

"""The word-averaging sentence encoder; saved with its weights."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from transformers.modeling_outputs import BaseModelOutputWithPooling
from transformers.utils import can_return_tuple

from .configurations import AvgConfig
from .word_vectors import AveragingModel, counted_tokens


class AvgModel(AveragingModel):
    """The mean of the word vectors of a sentence (Wieting et al. 2016, 2017).

    The only parameter is `embeddings` (vocab_size, hidden_size). Its name lets one folder open with `AutoModel`,
    sentence-transformers (`StaticEmbedding`) and model2vec.

    With `skip_unknown` the mean leaves unknown words out, unless the sentence has only unknown words. The other two
    readers ignore this setting: sentence-transformers always counts unknown words, and model2vec always drops them.
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
        """Embed a batch of sentences.

        Args:
            input_ids: Token ids (batch, length).
            attention_mask: Non-zero where a token counts (batch, length); None means all but padding. Padding may be
                on any side and changes no bit of the result.
            return_token_vectors: False leaves out `last_hidden_state` and saves its memory.
            **kwargs: Other fields of a tokenizer, ignored.

        Returns:
            `last_hidden_state` (batch, length, hidden_size), the word vectors, zero at padding, and `pooler_output`
            (batch, hidden_size), their mean. A sentence without tokens embeds to zeros. A skipped unknown word has the
            mean of the sentence as its vector, so that the mean over all tokens is the same.
        """
        given, mask = counted_tokens(input_ids, attention_mask, self.config)
        token_vectors, pooled = self._vectors_and_mean(input_ids, mask, return_token_vectors)
        if token_vectors is not None and self.config.skip_unknown:
            token_vectors = torch.where((given & ~mask).unsqueeze(2), pooled.unsqueeze(1), token_vectors)
        return BaseModelOutputWithPooling(last_hidden_state=token_vectors, pooler_output=pooled)

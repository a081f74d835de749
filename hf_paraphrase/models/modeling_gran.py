"""The gated recurrent averaging network; saved with its weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers.modeling_outputs import BaseModelOutputWithPooling
from transformers.utils import can_return_tuple

from .configurations import GranConfig
from .modeling_recurrent import RecurrentWordModel
from .recurrent_cells import PackedSentences
from .word_vectors import counted_tokens


@dataclass
class GranOutput(BaseModelOutputWithPooling):
    """The output of `GranModel`, with the gates (batch, length, hidden_size) if requested, zero at padding."""

    gates: Tensor | None = None


class GranModel(RecurrentWordModel):
    """The mean of gated word vectors (Wieting and Gimpel 2017, section 3.1).

        a_t = x_t * sigmoid(W_x x_t + W_h h_t + b)

    where x_t is the vector of word t and h_t the state of a recurrent network after reading it. The sentence embedding
    is the mean of a_t over the counted words. The network is an LSTM with `cell="lstm"` and the GRU of the paper with
    `cell="gru"`. With `bidirectional` a second network reads the sentence from its end, and h_t is
    tanh(M [h→_t; h←_t] + m) or h→_t + h←_t.

    Attributes:
        embeddings: The word vectors (vocab_size, hidden_size).
    """

    config_class = GranConfig
    base_model_prefix = "gran"

    def __init__(self, config: GranConfig) -> None:
        size = config.hidden_size
        super().__init__(config, size, size)
        concatenated = config.bidirectional and config.direction_merge == "concat"
        self.merge = nn.Linear(2 * size, size) if concatenated else None
        self.gate_input = nn.Linear(size, size)
        self.gate_state = nn.Linear(size, size, bias=False)
        self.post_init()

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        return_token_vectors: bool = True,
        output_gates: bool = False,
        **kwargs: Any,
    ) -> GranOutput:
        """Embed a batch of sentences; see `AvgModel` for the arguments. Padding changes nothing beyond rounding.

        Returns:
            `last_hidden_state` (batch, length, hidden_size), the gated vectors a_t, zero at padding,
            `pooler_output` (batch, hidden_size), their mean, and with `output_gates` the `gates` (batch, length,
            hidden_size). A sentence without tokens embeds to zeros. With `skip_unknown` skipped words have zero
            vectors, and the vectors of counted words are scaled so that the mean over all words is the embedding.
        """
        mask, counted = counted_tokens(input_ids, attention_mask, self.config)
        sentences = PackedSentences.of_mask(counted)
        words = functional.embedding(sentences.pack(input_ids), self.embeddings, sparse=self.sparse_gradients)
        read = self._dropped(words, sentences)
        if self.config.variational_dropout == 0 or self.config.variational_dropout_of == "words":
            words = read
        states, *backward = self._states(read, sentences)
        if backward:
            second = backward[0][sentences.reversal()]
            states = states + second if self.merge is None else self.merge(torch.cat([states, second], dim=1)).tanh()
        gates = (self.gate_input(read) + self.gate_state(states)).sigmoid()
        gated = words * gates
        shown = mask if self.config.skip_unknown else None
        return GranOutput(
            last_hidden_state=sentences.unpack(gated, shown) if return_token_vectors else None,
            pooler_output=sentences.mean(gated),
            gates=sentences.unpack(gates) if output_gates else None,
        )

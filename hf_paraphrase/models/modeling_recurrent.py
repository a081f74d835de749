"""Recurrent sentence encoders; saved with their weights."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers.modeling_outputs import BaseModelOutputWithPooling
from transformers.utils import can_return_tuple

from .configurations import RecurrentConfig
from .recurrent_cells import BiaslessGateGru, PackedSentences, SingleBiasLstm
from .word_vectors import WordVectorModel, counted_tokens


class RecurrentWordModel(WordVectorModel):
    """Recurrent networks over word vectors, with their initialization and dropout.

    All biases start at 0. Matrices and peepholes of an LSTM start N(0, 0.1), as in the reference code. Matrices of a
    GRU start Xavier uniform per gate, and its word vectors uniform in ± `initializer_range`.

    Attributes:
        recurrent: The forward network.
        recurrent_backward: The backward network; None for one direction.
    """

    def __init__(self, config: Any, embedding_size: int, size: int) -> None:
        super().__init__(config)
        self.embeddings = nn.Parameter(torch.empty(config.vocab_size, embedding_size))
        self.recurrent = make_cell(config, embedding_size, size)
        self.recurrent_backward = make_cell(config, embedding_size, size) if config.bidirectional else None

    def _draw(self, values: Tensor, name: str, rows: int) -> None:
        if self.config.cell == "gru":
            super()._draw(values, name, rows)
        else:
            values.normal_(0.0, 0.1)

    def _dropped(self, vectors: Tensor, sentences: PackedSentences) -> Tensor:
        """Apply the dropout of the configuration to packed word vectors (total, dim), in training."""
        config = self.config
        if not self.training or not sentences.batch_sizes:
            return vectors
        if config.word_dropout > 0:
            vectors = vectors * functional.dropout(vectors.new_ones(vectors.shape[0], 1), config.word_dropout)
        if config.variational_dropout > 0:
            vectors = vectors * self._mask(vectors, sentences, vectors.shape[1])[sentences.rank_of_token]
        return functional.dropout(vectors, config.dropout)

    def _states(self, vectors: Tensor, sentences: PackedSentences) -> list[Tensor]:
        """Compute the states (total, size) of each network from packed word vectors, in its own reading order."""
        cells = [self.recurrent] if self.recurrent_backward is None else [self.recurrent, self.recurrent_backward]
        if not sentences.batch_sizes:
            return [vectors.new_zeros(0, cell.size) for cell in cells]
        drops = self.training and self.config.variational_dropout > 0
        states = []
        for cell in cells:
            read = vectors if cell is self.recurrent else vectors[sentences.reversal()]
            states.append(cell(read, sentences, self._mask(vectors, sentences, cell.size) if drops else None))
        return states

    def _mask(self, like: Tensor, sentences: PackedSentences, size: int) -> Tensor:
        """Draw dropout factors that all words of a sentence share (sentences, size; Gal and Ghahramani 2016)."""
        ones = like.new_ones(sentences.batch_sizes[0], size)
        return functional.dropout(ones, self.config.variational_dropout)


def make_cell(config: Any, input_size: int, size: int) -> SingleBiasLstm | BiaslessGateGru:
    """Make the recurrent layer of a configuration."""
    if config.cell == "lstm":
        return SingleBiasLstm(input_size, size, peepholes=config.peepholes, output_gate=config.output_gate)
    return BiaslessGateGru(
        input_size, size, activation=config.candidate_activation, negative_slope=config.negative_slope
    )


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
            `skip_unknown` skipped words have zero vectors, and counted words are scaled as in `GranModel`.
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
            terms[1:] = [part[sentences.reversal()] for part in terms[1:]]
            token_vectors = sentences.unpack(self._merged(terms), mask if self.config.skip_unknown else None)
        return BaseModelOutputWithPooling(last_hidden_state=token_vectors, pooler_output=pooled)

    def _merged(self, parts: list[Tensor]) -> Tensor:
        """Merge the vectors of both directions."""
        return torch.cat(parts, dim=1) if self.config.direction_merge == "concat" else sum(parts[1:], parts[0])

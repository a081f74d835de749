"""The base class of recurrent encoders; saved with the weights."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from .packed_sentences import PackedSentences
from .recurrent_cells import BiaslessGateGru, SingleBiasLstm
from .word_vectors import WordVectorModel


class RecurrentWordModel(WordVectorModel):
    """Recurrent networks over word vectors, with their initialisation and dropout.

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
        """Compute the states (total, size) of each network from packed word vectors, in its own reading order.

        Variational dropout draws one mask of the state per sentence.
        """
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
        """Draw a factor for each component in all words of a sentence (sentences, size; Gal and Ghahramani 2016)."""
        ones = like.new_ones(sentences.batch_sizes[0], size)
        return functional.dropout(ones, self.config.variational_dropout)


def make_cell(config: Any, input_size: int, size: int) -> SingleBiasLstm | BiaslessGateGru:
    """Make the recurrent layer of a configuration."""
    if config.cell == "lstm":
        return SingleBiasLstm(input_size, size, peepholes=config.peepholes, output_gate=config.output_gate)
    return BiaslessGateGru(
        input_size, size, activation=config.candidate_activation, negative_slope=config.negative_slope
    )

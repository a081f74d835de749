"""The classifier of parallel sentences; saved with its weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import PackedSequence
from transformers.modeling_outputs import ModelOutput
from transformers.utils import can_return_tuple

from .configurations import ParallelBiGruConfig
from .recurrent_cells import PackedSentences
from .word_vectors import WordVectorModel, present_tokens


@dataclass
class ParallelBiGruOutput(ModelOutput):
    """The mean cross-entropy in nats, the pairs' scores before the sigmoid (pairs,), and the sentences' vectors."""

    loss: Tensor | None = None
    logits: Tensor | None = None
    source_vectors: Tensor | None = None
    target_vectors: Tensor | None = None


class ParallelBiGruModel(WordVectorModel):
    """Classifies whether two sentences are translations (Grégoire and Langlais 2017, section 2.1).

    A bidirectional GRU reads each sentence. The sentence vector h concatenates the final states of both directions.
    With `score_layer="bilinear"`

        P(parallel | S, T) = sigmoid(h_S' M h_T + b)    (equation 1)

    and with `"product_difference"`, the authors' later code, sigmoid(v' tanh(W [h_S * h_T; |h_S - h_T|] + c) + b).

    A sentence is encoded once and scored in any number of pairs by :meth:`score`.

    The reset gate of `torch.nn.GRU` acts after the recurrent product, U_h h_{t-1}. The paper's TensorFlow cell resets
    the state before the product, U_h (r_t * h_{t-1}), so weights of the paper's code cannot be used here. The weights
    are initialised as in `WordVectorModel`; the paper does not describe its initialisation.

    Attributes:
        source_embeddings: The word vectors of the source language (source_vocab_size, embedding_size).
        target_embeddings: The word vectors of the target language (target_vocab_size, embedding_size).
    """

    config_class = ParallelBiGruConfig
    base_model_prefix = "parallel_bigru"
    main_input_name = "source_input_ids"
    embeddings_name = "source_embeddings"

    def __init__(self, config: ParallelBiGruConfig) -> None:
        super().__init__(config)
        self.source_embeddings = nn.Parameter(torch.empty(config.source_vocab_size, config.embedding_size))
        self.target_embeddings = nn.Parameter(torch.empty(config.target_vocab_size, config.embedding_size))
        self.source_gru = nn.GRU(config.embedding_size, config.hidden_size, bidirectional=True)
        self.target_gru: nn.GRU | None = None
        if not config.share_rnn:
            self.target_gru = nn.GRU(config.embedding_size, config.hidden_size, bidirectional=True)
        size = 2 * config.hidden_size
        self.hidden_layer: nn.Linear | None = None
        if config.score_layer == "bilinear":
            self.score_weight = nn.Parameter(torch.empty(size, size))
        else:
            self.hidden_layer = nn.Linear(2 * size, config.score_hidden_size)
            self.score_weight = nn.Parameter(torch.empty(1, config.score_hidden_size))
        self.score_bias = nn.Parameter(torch.empty(1))
        self.post_init()

    def encode_source(self, input_ids: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        """Compute the vectors of source sentences (batch, 2 * hidden_size); zero without tokens.

        Padding may be on any side. Without a mask all tokens but padding count.
        """
        return self._encode(self.source_embeddings, self.source_gru, input_ids, attention_mask)

    def encode_target(self, input_ids: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        """Compute the vectors of target sentences; see :meth:`encode_source`."""
        gru = self.source_gru if self.target_gru is None else self.target_gru
        return self._encode(self.target_embeddings, gru, input_ids, attention_mask)

    def score(self, source_vectors: Tensor, target_vectors: Tensor) -> Tensor:
        """Score pairs of vectors (pairs, dim): logits (pairs,), whose sigmoid is P(parallel)."""
        if self.hidden_layer is None:
            scores = (source_vectors * functional.linear(target_vectors, self.score_weight)).sum(1)
        else:
            both = torch.cat([source_vectors * target_vectors, (source_vectors - target_vectors).abs()], dim=1)
            hidden = self.hidden_layer(both).tanh()
            scores = functional.linear(hidden, self.score_weight).squeeze(1)
        return scores + self.score_bias

    @can_return_tuple
    def forward(
        self,
        source_input_ids: Tensor,
        source_attention_mask: Tensor | None = None,
        target_input_ids: Tensor | None = None,
        target_attention_mask: Tensor | None = None,
        labels: Tensor | None = None,
        source_rows: Tensor | None = None,
        target_rows: Tensor | None = None,
        **kwargs: Any,
    ) -> ParallelBiGruOutput:
        """Score pairs of sentences and, with labels, compute the training loss.

        Rows of `source_input_ids` (source sentences, length) and `target_input_ids` are pairs, unless `source_rows`
        and `target_rows` (pairs,) select the sentences of each pair. A sentence of several pairs is then encoded once.
        `labels` (pairs,) are 1 for parallel pairs and 0 for others.
        """
        if target_input_ids is None:
            raise ValueError("target_input_ids must be given: the classifier scores pairs of sentences")
        source = self.encode_source(source_input_ids, source_attention_mask)
        target = self.encode_target(target_input_ids, target_attention_mask)
        logits = self.score(
            source if source_rows is None else source[source_rows],
            target if target_rows is None else target[target_rows],
        )
        loss = None
        if labels is not None:
            loss = functional.binary_cross_entropy_with_logits(logits.float(), labels.float())
        return ParallelBiGruOutput(loss=loss, logits=logits, source_vectors=source, target_vectors=target)

    def _encode(self, embeddings: Tensor, gru: nn.GRU, input_ids: Tensor, attention_mask: Tensor | None) -> Tensor:
        sentences = PackedSentences.of_mask(present_tokens(input_ids, attention_mask, self.config))
        words = functional.embedding(sentences.pack(input_ids), embeddings, sparse=self.sparse_gradients)
        words = functional.dropout(words, self.config.dropout, self.training)
        if not sentences.batch_sizes:
            return words.new_zeros(len(input_ids), 2 * gru.hidden_size)
        _, ends = gru(PackedSequence(words, torch.tensor(sentences.batch_sizes)))
        vectors = sentences.by_row(ends.transpose(0, 1).flatten(1))
        return functional.dropout(vectors, self.config.dropout, self.training)

"""The sequential denoising autoencoder; saved with its weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import initialization
from transformers.modeling_outputs import BaseModelOutputWithPooling
from transformers.utils import can_return_tuple

from .configurations import SdaeConfig
from .recurrent_cells import PackedSentences, SingleBiasGru
from .word_vectors import WordVectorModel, counted_tokens, embedding_layer


@dataclass
class SdaeOutput(BaseModelOutputWithPooling):
    """The output of `SdaeModel`, with the scalar reconstruction loss if labels are given."""

    loss: Tensor | None = None


class SdaeDecoder(nn.Module):
    """Reconstructs the sentence, word by word, from its embedding e.

    The first state is s_0 = tanh(W e + b), and each next state s_t = GRU(s_{t-1}; word t-1, e). The word before the
    first is a zero vector. A softmax over O s_t + o predicts the next word or the end. With `readout_size` a linear
    layer precedes the output layer.
    """

    def __init__(self, config: SdaeConfig) -> None:
        super().__init__()
        size = config.hidden_size
        assert config.pad_token_id is not None
        self.end = config.pad_token_id
        self.embeddings: nn.Parameter | None = None
        if not config.share_embeddings:
            self.embeddings = nn.Parameter(torch.empty(config.vocab_size, config.embedding_size))
        self.start = nn.Linear(size, size)
        self.recurrent = SingleBiasGru(config.embedding_size, size, context_size=size)
        self.readout = None if config.readout_size is None else nn.Linear(size, config.readout_size, bias=False)
        self.output = nn.Linear(config.readout_size or size, config.vocab_size)

    def forward(self, embedding: Tensor, labels: Tensor, embeddings: Tensor) -> Tensor:
        """Compute the negative log-likelihood of sentences, summed over words, ends and sentences.

        The output layer runs once over all states, without padding. `labels` (sentences, length) are -100 at
        padding. `embeddings` are the word vectors of the encoder.
        """
        present = labels >= 0
        lengths = present.sum(1, keepdim=True)
        positions = torch.arange(labels.shape[1] + 1, device=labels.device)
        words = labels[present]
        # Filled row by row, so that padding may be on any side.
        following = torch.full((labels.shape[0], len(positions)), self.end, device=labels.device)
        following[positions < lengths] = words
        preceding = torch.zeros_like(following)
        preceding[(positions > 0) & (positions <= lengths)] = words
        packing = PackedSentences.of_mask(positions <= lengths)
        if not packing.batch_sizes:
            return embedding.new_zeros(())
        table = embeddings if self.embeddings is None else self.embeddings
        first = packing.batch_sizes[0]
        read = functional.embedding(packing.pack(preceding)[first:], table)
        by_rank = embedding[packing.ranks.argsort()]
        states = self.recurrent(
            torch.cat([read.new_zeros(first, read.shape[1]), read]),
            packing,
            initial=torch.tanh(self.start(by_rank)),
            context=by_rank,
        )
        if self.readout is not None:
            states = self.readout(states)
        logits = self.output(states)
        logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
        return functional.cross_entropy(logits, packing.pack(following), reduction="sum")


class SdaeModel(WordVectorModel):
    """The sequential denoising autoencoder (Hill, Cho and Korhonen 2016, section 2).

    A GRU reads a noisy sentence. Its last state is the sentence embedding. A second GRU reconstructs the sentence
    without noise. As in the authors' code the decoder starts from a function of the embedding and reads it at every
    step. Unlike in the authors' code the encoder reads no end token.

    As in `RecurrentModel`, `last_hidden_state` holds n (h_t - h_{t-1}) for a sentence of n tokens (h_0 = 0), so that
    its mean over the tokens is the sentence embedding.

    Attributes:
        embeddings: The word vectors (vocab_size, embedding_size).
        decoder: The decoder, or None without `has_decoder`.
    """

    config_class = SdaeConfig
    base_model_prefix = "sdae"
    # The loss is a mean over the sentences of the batch: the Trainer divides it by the accumulation steps.
    accepts_loss_kwargs = False

    def __init__(self, config: SdaeConfig) -> None:
        super().__init__(config)
        self.embeddings = nn.Parameter(torch.empty(config.vocab_size, config.embedding_size))
        self.recurrent = SingleBiasGru(config.embedding_size, config.hidden_size)
        self.decoder = SdaeDecoder(config) if config.has_decoder else None
        self.post_init()

    def get_output_embeddings(self) -> nn.Linear | None:
        """Return the output layer, or None without a decoder."""
        return None if self.decoder is None else self.decoder.output

    def set_output_embeddings(self, value: nn.Module) -> None:
        """Replace the output layer of the decoder."""
        assert self.decoder is not None and isinstance(value, nn.Linear)
        self.decoder.output = value

    def resize_token_embeddings(self, *args: Any, **kwargs: Any) -> nn.Embedding:
        """Resize the word vectors of encoder and decoder, and the output layer."""
        layer: nn.Embedding = super().resize_token_embeddings(*args, **kwargs)
        if self.decoder is not None and self.decoder.embeddings is not None:
            own = embedding_layer(self.decoder.embeddings)
            self.decoder.embeddings = self._get_resized_embeddings(own, layer.weight.shape[0]).weight
        return layer

    def _draw(self, values: Tensor, name: str, rows: int) -> None:
        reference = self.config.initialization == "reference"
        for gate, matrix in enumerate(values.split(rows)):
            # The authors' code joins the context matrices of both gates into one that is not square.
            square = matrix.shape[0] == matrix.shape[1] and (name != "weight_context" or gate == 2)
            if name == "weight_state" or (square and reference):
                initialization.orthogonal_(matrix)
            elif reference:
                matrix.normal_(0.0, self.config.initializer_range)
            else:
                initialization.xavier_uniform_(matrix)

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        labels: Tensor | None = None,
        return_token_vectors: bool = True,
        **kwargs: Any,
    ) -> SdaeOutput:
        """Embed a batch of sentences and, with labels, compute the reconstruction loss.

        `labels` are the words without noise of the first `rows` sentences (rows, length), -100 at padding. The rest of
        the batch is only embedded. `loss` is the negative log-likelihood in nats of the words and the end of a
        sentence, summed over each sentence and averaged over the sentences.
        """
        mask, counted = counted_tokens(input_ids, attention_mask, self.config)
        sentences = PackedSentences.of_mask(counted)
        vectors = functional.embedding(sentences.pack(input_ids), self.embeddings)
        states = self.recurrent(vectors, sentences)
        pooled = sentences.last(states)
        loss = None
        if labels is not None:
            if self.decoder is None:
                raise ValueError("this model has no decoder and cannot reconstruct sentences")
            total = self.decoder(pooled[: len(labels)], labels, self.embeddings)
            loss = total / max(len(labels), 1)
        shown = mask if self.config.skip_unknown else None
        token_vectors = sentences.unpack(sentences.token_increments(states), shown) if return_token_vectors else None
        return SdaeOutput(loss=loss, last_hidden_state=token_vectors, pooler_output=pooled)

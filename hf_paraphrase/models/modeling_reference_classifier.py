"""The classifier that distinguishes references from translations, in one file that travels with its weights."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import initialization
from transformers.modeling_outputs import SequenceClassifierOutput
from transformers.utils import can_return_tuple

# A file that only an imported file imports must be imported here too, or it would not travel with the weights.
from .base_configuration import ModelConfig as ModelConfig
from .configuration_reference_classifier import ReferenceClassifierConfig
from .word_vectors import WordVectorModel, initialize_word_vectors, present_tokens


class ReferenceClassifier(WordVectorModel):
    """A sentence vector and a softmax layer over two labels, 0 translation and 1 reference (paper 000, section 5.6.1).

    With v the mean of the word vectors (`body="avg"`) or the state of an LSTM behind the last word (`body="lstm"`),

        P(label | sentence) = softmax(W v + b)

    A sentence without words has v = 0. The paper does not describe its LSTM further; this one is `torch.nn.LSTM` with
    one layer. Initialisation: word vectors N(0, `initializer_range`), input matrices and W Xavier uniform, recurrent
    matrices orthogonal for each gate, biases 0 but 1 for the forget gate.

    Attributes:
        embeddings: The word vectors (vocab_size, embedding_size).
    """

    config_class = ReferenceClassifierConfig
    base_model_prefix = "reference_classifier"

    def __init__(self, config: ReferenceClassifierConfig) -> None:
        super().__init__(config)
        assert config.hidden_size is not None
        self.embeddings = nn.Parameter(torch.empty(config.vocab_size, config.embedding_size))
        self.lstm: nn.LSTM | None = None
        if config.body == "lstm":
            self.lstm = nn.LSTM(config.embedding_size, config.hidden_size, batch_first=True)
        self.classifier = nn.Linear(config.hidden_size, config.num_labels)
        self.post_init()

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        if isinstance(module, ReferenceClassifier):
            initialize_word_vectors(module.embeddings, self.config)
        elif isinstance(module, nn.Embedding):
            super()._init_weights(module)
        elif isinstance(module, nn.LSTM):
            size = module.hidden_size
            for name, parameter in module.named_parameters():
                if name.startswith("bias"):
                    values = torch.zeros_like(parameter)
                    # Gates are in the order input, forget, cell, output; two biases are added to one another.
                    values[size : 2 * size] = 0.5
                    initialization.copy_(parameter, values)
                    continue
                blocks = torch.empty_like(parameter)
                for block in blocks.split(size):
                    if name.startswith("weight_hh"):
                        initialization.orthogonal_(block)
                    else:
                        initialization.xavier_uniform_(block)
                initialization.copy_(parameter, blocks)
        elif isinstance(module, nn.Linear):
            initialization.xavier_uniform_(module.weight)
            initialization.zeros_(module.bias)

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        labels: Tensor | None = None,
        **kwargs: Any,
    ) -> SequenceClassifierOutput:
        """Classifies a batch of sentences.

        Args:
            input_ids: Token ids (batch, length).
            attention_mask: True or non-zero where a token counts (batch, length); None counts all that is not padding.
                Padding may be on any side and changes nothing.
            labels: 0 for a translation and 1 for a reference (batch,); None for no loss.
            **kwargs: Other fields that a tokenizer or the Trainer may give; they have no meaning here.

        Returns:
            `logits` (batch, 2) and, with labels, `loss`, the mean cross-entropy in nats.
        """
        mask = present_tokens(input_ids, attention_mask, self.config)
        vectors = self._states_behind(input_ids, mask) if self.lstm is not None else self._means(input_ids, mask)
        logits = self.classifier(functional.dropout(vectors, self.config.dropout, self.training))
        loss = None if labels is None else functional.cross_entropy(logits.float(), labels)
        return SequenceClassifierOutput(loss=loss, logits=logits)

    def _means(self, input_ids: Tensor, mask: Tensor) -> Tensor:
        """Computes the means of the word vectors (batch, embedding_size)."""
        lengths = mask.sum(1)
        words = input_ids[mask]
        if words.numel() == 0:
            return self.embeddings.new_zeros(len(lengths), self.embeddings.shape[1])
        if not self.training or self.config.dropout == 0:
            # One pass over the words, without a table of all their vectors.
            return functional.embedding_bag(words, self.embeddings, lengths.cumsum(0) - lengths, mode="mean")
        vectors = functional.dropout(functional.embedding(input_ids, self.embeddings), self.config.dropout)
        return (vectors * mask.unsqueeze(2)).sum(1) / lengths.clamp_min(1).unsqueeze(1).to(vectors.dtype)

    def _states_behind(self, input_ids: Tensor, mask: Tensor) -> Tensor:
        """Computes the LSTM's states behind the last words (batch, hidden_size)."""
        assert self.lstm is not None
        lengths = mask.sum(1)
        if lengths.numel() == 0 or int(lengths.max()) == 0:
            return self.embeddings.new_zeros(len(lengths), self.config.hidden_size)
        if bool((mask[:, 1:] & ~mask[:, :-1]).any()):
            input_ids = input_ids.gather(1, (~mask).to(torch.int8).argsort(dim=1, stable=True))
        vectors = functional.embedding(input_ids[:, : int(lengths.max())], self.embeddings)
        vectors = functional.dropout(vectors, self.config.dropout, self.training)
        # A state depends on earlier words only, so what stands behind a sentence needs no care.
        states = self.lstm(vectors)[0]
        last = (lengths - 1).clamp_min(0).view(-1, 1, 1).expand(-1, 1, states.shape[2])
        return states.gather(1, last).squeeze(1) * (lengths > 0).unsqueeze(1)


ReferenceClassifier.register_for_auto_class("AutoModelForSequenceClassification")

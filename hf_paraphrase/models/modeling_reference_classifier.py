"""The classifier that distinguishes references from translations; saved with its weights."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn
from torch.nn import functional
from transformers.modeling_outputs import SequenceClassifierOutput
from transformers.utils import can_return_tuple

from .configurations import ReferenceClassifierConfig
from .recurrent_cells import PackedSentences
from .word_vectors import AveragingModel, present_tokens


class ReferenceClassifier(AveragingModel):
    """Classifies a sentence as 0, a translation, or 1, a reference (Wieting et al. 2017, section 5.6.1).

    With v the mean of the word vectors (`body="avg"`) or the final state of an LSTM (`body="lstm"`),

        P(label | sentence) = softmax(W v + b)

    A sentence without words has v = 0. The LSTM is `torch.nn.LSTM` with one layer. The weights are initialised as in
    `WordVectorModel`.

    Attributes:
        embeddings: The word vectors (vocab_size, embedding_size).
    """

    config_class = ReferenceClassifierConfig
    base_model_prefix = "reference_classifier"
    _auto_class = "AutoModelForSequenceClassification"

    def __init__(self, config: ReferenceClassifierConfig) -> None:
        super().__init__(config, config.embedding_size)
        assert config.hidden_size is not None
        self.lstm: nn.LSTM | None = None
        if config.body == "lstm":
            self.lstm = nn.LSTM(config.embedding_size, config.hidden_size)
        self.classifier = nn.Linear(config.hidden_size, config.num_labels)
        self.post_init()

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        labels: Tensor | None = None,
        **kwargs: Any,
    ) -> SequenceClassifierOutput:
        """Classify a batch of sentences: `logits` (batch, 2) and, with labels, the mean cross-entropy in nats.

        Padding may be on any side. Without a mask all tokens but padding count. Other fields are ignored.
        """
        mask = present_tokens(input_ids, attention_mask, self.config)
        if self.lstm is None:
            _, vectors = self._vectors_and_mean(input_ids, mask, return_token_vectors=False)
        else:
            sentences = PackedSentences.of_mask(mask)
            words = functional.embedding(sentences.pack(input_ids), self.embeddings)
            vectors = words.new_zeros(len(mask), self.lstm.hidden_size)
            if sentences.batch_sizes:
                words = functional.dropout(words, self.config.dropout, self.training)
                # Padded, because a CPU has no fast kernel for packed sequences.
                vectors = sentences.last(sentences.unpad(self.lstm(sentences.pad(words))[0]))
        logits = self.classifier(functional.dropout(vectors, self.config.dropout, self.training))
        loss = None if labels is None else functional.cross_entropy(logits.float(), labels)
        return SequenceClassifierOutput(loss=loss, logits=logits)

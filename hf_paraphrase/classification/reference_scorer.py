"""How human a sentence looks: the probability of the label `reference` under a reference classifier."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from ..artefacts.hub_models import model_folder
from ..artefacts.model_loading import check_model_type, load_model_folder
from ..encoders.backends.padded_batches import batches_of_like_length, evaluation_mode
from ..models.registry import model_class
from ..tokenization.fast_tokenize import ids_of, list_of_texts, lookup_for
from ..tokenization.ragged_ids import TokenIds
from ..training.devices import CPU

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

_MODEL_TYPE = "reference_classifier"
_TOKENS_PER_BATCH = 16_384


@torch.inference_mode()
def reference_probabilities(model: PreTrainedModel, ids: TokenIds) -> NDArray[np.float64]:
    """Computes P(reference) of sentences given as token ids (sentences,), rounded so that batches do not matter.

    A sentence without words has the probability that the softmax layer's bias gives.
    """
    label = model.config.label2id["reference"]
    lengths = np.maximum(ids.lengths, 1)
    result = np.empty(len(lengths))
    with evaluation_mode(model):
        for rows in batches_of_like_length(lengths, len(lengths), _TOKENS_PER_BATCH):
            batch = ids.padded(np.array(rows), model.config.pad_token_id or 0)
            tokens, mask = (torch.from_numpy(item).to(model.device) for item in batch)
            logits = model(input_ids=tokens, attention_mask=mask).logits
            result[rows] = logits.cpu().double().softmax(-1)[:, label].numpy()
    return result.round(6)


def token_ids(tokenizer: PreTrainedTokenizerFast, texts: str | Sequence[str]) -> TokenIds:
    """Tokenises texts as the classifier reads them; a single one is a list of one."""
    backend = tokenizer.backend_tokenizer
    return ids_of(backend, list_of_texts(texts), lookup_for(backend))


class ReferenceScorer:
    """A reference classifier with its tokenizer."""

    def __init__(self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast) -> None:
        self.model = model
        self.tokenizer = tokenizer

    @classmethod
    def from_pretrained(
        cls, folder: str | os.PathLike[str], *, device: str = CPU, revision: str | None = None
    ) -> ReferenceScorer:
        """Opens a classifier folder, or a repository `namespace/name` of the Hub at a revision."""
        path = model_folder(folder, revision=revision)
        check_model_type(path, (_MODEL_TYPE,), kind="reference classifier", verb="hf-paraphrase train-classifier")
        model, tokenizer = load_model_folder(path, model_class(_MODEL_TYPE))
        return cls(model.to(device), tokenizer)

    def probabilities(self, texts: str | Sequence[str]) -> NDArray[np.float64]:
        """Computes P(reference) of each text (texts,)."""
        return reference_probabilities(self.model, token_ids(self.tokenizer, texts))

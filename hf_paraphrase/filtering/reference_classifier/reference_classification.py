"""How human a sentence looks: the probability of the label `reference` under a reference classifier."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch
from numpy.typing import NDArray

from ...artefacts.hub_models import model_folder
from ...artefacts.model_loading import check_model_type, load_model_folder
from ...data.batch_function import BatchFunction, Progress, Report, no_progress
from ...data.schema import with_column
from ...encoders.padded_batches import batches_of_like_length
from ...models.registry import model_class
from ...tokenization.token_ids import TokenIds
from ...tokenization.token_lookup import ids_of, list_of_texts, lookup_for
from ...training.devices import CPU

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

_MODEL_TYPE = "reference_classifier"
_TOKENS_PER_BATCH = 16_384
_DECIMALS = 6


@torch.inference_mode()
def reference_probabilities(model: PreTrainedModel, ids: TokenIds) -> NDArray[np.float64]:
    """Computes P(reference) of sentences given as token ids (sentences,), rounded so that batches do not matter.

    A sentence without words has the probability that the softmax layer's bias gives.
    """
    label = model.config.label2id["reference"]
    lengths = np.maximum(ids.lengths, 1)
    result = np.empty(len(lengths))
    training = model.training
    model.eval()
    for rows in batches_of_like_length(lengths, len(lengths), _TOKENS_PER_BATCH):
        tokens, mask = ids.padded(np.array(rows), model.config.pad_token_id or 0)
        logits = model(
            input_ids=torch.from_numpy(tokens).to(model.device), attention_mask=torch.from_numpy(mask).to(model.device)
        ).logits
        result[rows] = logits.cpu().double().softmax(-1)[:, label].numpy()
    model.train(training)
    return result.round(_DECIMALS)


def token_ids(tokenizer: PreTrainedTokenizerFast, texts: str | Sequence[str]) -> TokenIds:
    """Tokenises texts as the classifier reads them; a single one is a list of one."""
    backend = tokenizer.backend_tokenizer
    return ids_of(backend, list_of_texts(texts), lookup_for(backend))


@dataclass(frozen=True)
class ReferenceScorer(BatchFunction):
    """Adds `reference_probability`: P(reference) of a column of texts, under a reference classifier.

    Attributes:
        classifier: The classifier's folder, or a repository `namespace/name` of the Hub.
        column: The column of texts; a missing text counts as empty.
        device: Where to compute.
        revision: Of the repository.
    """

    classifier: str
    column: str = "sentence2"
    device: str = CPU
    revision: str | None = None

    @classmethod
    def from_pretrained(
        cls, folder: str | os.PathLike[str], *, device: str = CPU, revision: str | None = None
    ) -> ReferenceScorer:
        """Opens a classifier folder, or a repository `namespace/name` of the Hub at a revision, at once."""
        scorer = cls(os.fspath(folder), device=device, revision=revision)
        _ = scorer.opened
        return scorer

    @cached_property
    def opened(self) -> tuple[PreTrainedModel, PreTrainedTokenizerFast]:
        """The classifier and its tokenizer."""
        folder = model_folder(self.classifier, revision=self.revision)
        check_model_type(folder, (_MODEL_TYPE,), kind="reference classifier", verb="hf-paraphrase train-classifier")
        model, tokenizer = load_model_folder(Path(folder), model_class(_MODEL_TYPE))
        return model.to(self.device), tokenizer

    def reported(self, table: pa.Table, progress: Progress = no_progress) -> tuple[pa.Table, Report]:
        """Returns the rows with the column."""
        texts = pc.fill_null(table.column(self.column), "").to_pylist()
        scored = with_column(table, "reference_probability", pa.array(self.probabilities(texts)))
        progress(table.num_rows)
        return scored, {}

    def probabilities(self, texts: str | Sequence[str]) -> NDArray[np.float64]:
        """Computes P(reference) of each text (texts,)."""
        model, tokenizer = self.opened
        return reference_probabilities(model, token_ids(tokenizer, texts))

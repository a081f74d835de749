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
from ...encoders.devices import CPU
from ...models.registry import model_class
from ...tokenization.token_lookup import list_of_texts

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

MODEL_TYPE = "reference_classifier"
_TOKENS_PER_BATCH = 16_384
_DECIMALS = 6


@torch.inference_mode()
def reference_probabilities(
    model: PreTrainedModel, tokens: NDArray[np.int32], offsets: NDArray[np.int64], rows: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Computes P(reference) of sentences given as token ids.

    Args:
        model: A reference classifier; it is in evaluation mode for the time, and as before afterwards.
        tokens: The ids of all sentences laid end to end (total,).
        offsets: Where each sentence begins, and the end (sentences + 1,).
        rows: The numbers of the sentences to classify (rows,), in any order.

    Returns:
        The probabilities (rows,), rounded to six decimals, so that they do not tell which sentences shared a batch.
    """
    pad = model.config.pad_token_id or 0
    label = model.config.label2id["reference"]
    lengths = offsets[rows + 1] - offsets[rows]
    order = np.argsort(lengths, kind="stable")
    result = np.empty(len(rows))
    training = model.training
    model.eval()
    start = 0
    while start < len(order):
        # Ascending lengths: the last sentence of a batch is its longest.
        stop = min(len(order), start + max(1, _TOKENS_PER_BATCH // max(1, int(lengths[order[start]]))))
        while stop > start + 1 and (stop - start) * int(lengths[order[stop - 1]]) > _TOKENS_PER_BATCH:
            stop = start + (stop - start + 1) // 2
        chosen = order[start:stop]
        ids = np.full((len(chosen), int(lengths[chosen[-1]])), pad, np.int64)
        inside = np.arange(ids.shape[1]) < lengths[chosen][:, None]
        ids[inside] = np.concatenate([tokens[offsets[row] : offsets[row + 1]] for row in rows[chosen]])
        logits = model(
            input_ids=torch.from_numpy(ids).to(model.device), attention_mask=torch.from_numpy(inside).to(model.device)
        ).logits
        result[chosen] = logits.cpu().double().softmax(-1)[:, label].numpy()
        start = stop
    model.train(training)
    return result.round(_DECIMALS)


def token_arrays(
    tokenizer: PreTrainedTokenizerFast, texts: str | Sequence[str]
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Tokenises texts; a single one is a list of one.

    Returns:
        The ids of all texts laid end to end (total,), int32; where each begins, and the end (texts + 1,), int64.

    Raises:
        TypeError: If a text is not a string.
    """
    backend = tokenizer.backend_tokenizer
    backend.no_padding()
    backend.no_truncation()
    encoded = [item.ids for item in backend.encode_batch_fast(list_of_texts(texts), add_special_tokens=False)]
    offsets = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum([len(ids) for ids in encoded], out=offsets[1:])
    tokens = np.fromiter((number for ids in encoded for number in ids), np.int32, count=int(offsets[-1]))
    return tokens, offsets


def text_probabilities(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast, texts: str | Sequence[str]
) -> NDArray[np.float64]:
    """Computes P(reference) of each text (texts,); a text without words has that of the softmax layer's bias."""
    tokens, offsets = token_arrays(tokenizer, texts)
    return reference_probabilities(model, tokens, offsets, np.arange(len(offsets) - 1))


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
        """Opens a classifier folder, or a repository `namespace/name` of the Hub at a revision, at once.

        Raises:
            ModelError: If the folder is missing, damaged, or a model of another type.
            HubError: If the Hub cannot be reached.
        """
        scorer = cls(os.fspath(folder), device=device, revision=revision)
        _ = scorer.opened
        return scorer

    @cached_property
    def opened(self) -> tuple[PreTrainedModel, PreTrainedTokenizerFast]:
        """The classifier and its tokenizer.

        Raises:
            ModelError: As :meth:`from_pretrained`.
            HubError: As there.
        """
        folder = model_folder(self.classifier, revision=self.revision)
        check_model_type(folder, (MODEL_TYPE,), kind="reference classifier", verb="hf-paraphrase train-classifier")
        model, tokenizer = load_model_folder(Path(folder), model_class(MODEL_TYPE))
        return model.to(self.device), tokenizer

    def reported(self, table: pa.Table, progress: Progress = no_progress) -> tuple[pa.Table, Report]:
        """Returns the rows with the column."""
        texts = pc.fill_null(table.column(self.column), "").to_pylist()
        scored = with_column(table, "reference_probability", pa.array(self.probabilities(texts)))
        progress(table.num_rows)
        return scored, {}

    def probabilities(self, texts: str | Sequence[str]) -> NDArray[np.float64]:
        """Computes P(reference) of each text (texts,), as :func:`text_probabilities`."""
        return text_probabilities(*self.opened, texts)

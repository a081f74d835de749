"""Classes and scores of sentences and pairs, from a sentence classifier's folder."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from ...artefacts.hub_models import model_folder
from ...artefacts.model_loading import check_model_type, load_model_folder
from ...encoders.padded_batches import batches_of_like_length
from ...models.registry import model_class
from ...tokenization.token_ids import TokenIds
from ...tokenization.token_lookup import list_of_texts
from ...training.devices import CPU

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

MODEL_TYPE = "sentence_classifier"
_TOKENS_PER_BATCH = 16_384


@dataclass
class ClassifierInputs:
    """Token ids of sentences, or of both sides of pairs; and class numbers, int64, or scores, float32 (rows,)."""

    first: TokenIds
    second: TokenIds | None
    targets: NDArray[Any] | None = None

    def __len__(self) -> int:
        return len(self.first.offsets) - 1

    def lengths(self) -> NDArray[np.int64]:
        """The number of tokens of each row, of the longer side (rows,)."""
        own = self.first.lengths
        return own if self.second is None else np.maximum(own, self.second.lengths)

    def batch(self, rows: NDArray[np.int64], pad_token_id: int) -> dict[str, torch.Tensor]:
        """Makes a batch of some rows, padded on the right, with the names of the model's `forward`."""
        sides = {"": self.first} | ({} if self.second is None else {"second_": self.second})
        batch: dict[str, torch.Tensor] = {}
        for prefix, tokens in sides.items():
            ids, mask = tokens.padded(rows, pad_token_id)
            batch[f"{prefix}input_ids"] = torch.from_numpy(ids)
            batch[f"{prefix}attention_mask"] = torch.from_numpy(mask.astype(np.int64))
        if self.targets is not None:
            batch["labels"] = torch.from_numpy(self.targets[rows])
        return batch


def tokenize(
    tokenizer: PreTrainedTokenizerBase,
    first: str | Sequence[str],
    second: str | Sequence[str] | None = None,
    targets: NDArray[Any] | None = None,
) -> ClassifierInputs:
    """Computes the token ids of sentences or pairs, without padding or truncation."""
    backend: Any = tokenizer.backend_tokenizer
    backend.no_padding()
    backend.no_truncation()

    def ids(texts: str | Sequence[str]) -> TokenIds:
        return TokenIds.of_lists(
            [item.ids for item in backend.encode_batch_fast(list_of_texts(texts), add_special_tokens=True)]
        )

    return ClassifierInputs(ids(first), None if second is None else ids(second), targets)


@torch.inference_mode()
def predicted_logits(model: PreTrainedModel, inputs: ClassifierInputs) -> NDArray[np.float64]:
    """Computes the logits of all rows (rows, labels), of a regression its scores (rows, 1).

    Rows of like length share a batch; neither their order nor the batches change a result beyond rounding. The model
    is in evaluation mode for the time, and as before afterwards.
    """
    training = model.training
    model.eval()
    result = np.empty((len(inputs), model.config.num_labels))
    # Those without tokens are judged, too.
    lengths = np.maximum(inputs.lengths(), 1)
    for rows in batches_of_like_length(lengths, len(lengths), _TOKENS_PER_BATCH):
        batch = inputs.batch(np.array(rows), model.config.pad_token_id or 0)
        batch.pop("labels", None)
        logits = model(**{name: value.to(model.device) for name, value in batch.items()}).logits
        result[rows] = logits.cpu().double().numpy()
    model.train(training)
    return result


def predicted_classes(logits: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Turns logits (rows, labels) into the numbers of the likeliest classes and their probabilities, both (rows,)."""
    probabilities, class_ids = torch.from_numpy(logits).softmax(1).max(1)
    return class_ids.numpy(), probabilities.numpy()


def predicted_scores(model: PreTrainedModel, logits: NDArray[np.float64]) -> NDArray[np.float64]:
    """Turns logits (rows, labels) of a model of scores into scores (rows,)."""
    scores: NDArray[np.float64] = model.scores(torch.from_numpy(logits)).numpy()
    return scores


class SentenceJudge:
    """A sentence classifier with its tokenizer."""

    def __init__(self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> None:
        self.model = model
        self.tokenizer = tokenizer

    @classmethod
    def from_pretrained(
        cls, folder: str | os.PathLike[str], *, device: str = CPU, revision: str | None = None
    ) -> SentenceJudge:
        """Opens the folder of a sentence classifier, or a repository `namespace/name` of the Hub at a revision."""
        folder = model_folder(folder, revision=revision)
        check_model_type(folder, (MODEL_TYPE,), kind="sentence classifier", verb="hf-paraphrase train-supervised")
        model, tokenizer = load_model_folder(Path(folder), model_class(MODEL_TYPE))
        return cls(model.to(device), tokenizer)

    @property
    def judges_pairs(self) -> bool:
        """Whether it takes pairs of sentences."""
        return bool(self.model.config.pairs)

    @property
    def gives_scores(self) -> bool:
        """Whether it gives scores, not classes."""
        return str(self.model.config.objective) != "classification"

    @property
    def class_names(self) -> list[str]:
        """The names of the classes, in the order of the logits."""
        return [self.model.config.id2label[number] for number in range(self.model.config.num_labels)]

    def logits(self, first: str | Sequence[str], second: str | Sequence[str] | None = None) -> NDArray[np.float64]:
        """Computes the logits of sentences or pairs (texts, labels)."""
        return predicted_logits(self.model, tokenize(self.tokenizer, first, second))

    def classes(
        self, first: str | Sequence[str], second: str | Sequence[str] | None = None
    ) -> tuple[list[str], NDArray[np.float64]]:
        """Classifies sentences or pairs; returns the likeliest class of each and its probability (texts,)."""
        class_ids, probabilities = predicted_classes(self.logits(first, second))
        return [self.class_names[number] for number in class_ids], probabilities

    def scores(self, first: str | Sequence[str], second: str | Sequence[str] | None = None) -> NDArray[np.float64]:
        """Scores sentences or pairs (texts,)."""
        return predicted_scores(self.model, self.logits(first, second))

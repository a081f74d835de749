"""Applies trained classifiers and scorers to sentences and pairs."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import expit, softmax

from ..artefacts.hub_models import model_folder
from ..artefacts.model_loading import check_model_type, load_model_folder
from ..encoders.backends.padded_batches import batch_by_length, evaluation_mode
from ..errors import ModelError, UsageError
from ..messages import log
from ..models.registry import model_class
from ..tokenization.fast_tokenize import ids_of, list_of_texts, lookup_for
from ..tokenization.ragged_ids import TokenIds
from ..training.devices import CPU
from ..training.word_vectors import Coverage, WordVectors, fill_embeddings

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

MODEL_TYPE = "sentence_classifier"
REFERENCE = "reference"
_TOKENS_PER_BATCH = 16_384


@dataclass
class ClassifierInputs:
    """Token ids of sentences or both sides of pairs; `targets` (rows, …) are the labels of the model's `forward`."""

    first: TokenIds
    second: TokenIds | None = None
    targets: NDArray[Any] | None = None

    def __len__(self) -> int:
        return len(self.first.offsets) - 1

    def lengths(self) -> NDArray[np.int64]:
        """The number of tokens of each row, of the longer side (rows,)."""
        own = self.first.lengths
        return own if self.second is None else np.maximum(own, self.second.lengths)

    def batch(self, rows: NDArray[np.int64], pad_token_id: int) -> dict[str, torch.Tensor]:
        """Make a batch of rows, padded on the right, with the argument names of the model's `forward`."""
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
    """Tokenize sentences or pairs without padding, up to the maximum length of a transformer."""
    backend: Any = tokenizer.backend_tokenizer
    backend.no_padding()
    backend.no_truncation()
    if truncates := tokenizer.model_max_length < 1 << 30:
        backend.enable_truncation(tokenizer.model_max_length)
    lookup = None if truncates else lookup_for(backend, special_tokens=True)

    def ids(texts: str | Sequence[str]) -> TokenIds:
        listed = list_of_texts(texts)
        if truncates:
            return TokenIds.of_lists([encoding.ids for encoding in backend.encode_batch_fast(listed)])
        return ids_of(backend, listed, lookup, special_tokens=True)

    return ClassifierInputs(ids(first), None if second is None else ids(second), targets)


def fill_word_vectors(encoder: Any, tokenizer: Any, vectors: WordVectors, texts: Sequence[str], seed: int) -> Coverage:
    """Write initial vectors into the first rows of an encoder's embeddings; return how many of the words have one."""
    counts = np.bincount(tokenize(tokenizer, texts).first.ids, minlength=len(tokenizer))
    coverage = fill_embeddings(encoder.embeddings, tokenizer, vectors, counts, seed)
    log(f"initial vectors: {coverage}")
    return coverage


def _batches(model: PreTrainedModel, inputs: ClassifierInputs) -> Iterator[tuple[list[int], dict[str, torch.Tensor]]]:
    """Yield batches of rows of similar length, on the model's device; rows without tokens are among them."""
    lengths = np.maximum(inputs.lengths(), 1)
    for rows in batch_by_length(lengths, len(lengths), _TOKENS_PER_BATCH):
        batch = inputs.batch(np.array(rows), model.config.pad_token_id or 0)
        batch.pop("labels", None)
        yield rows, {name: value.to(model.device) for name, value in batch.items()}


@torch.inference_mode()
def predict_logits(model: PreTrainedModel, inputs: ClassifierInputs) -> NDArray[np.float64]:
    """Compute the logits of all rows (rows, labels), for a regression the scores (rows, 1); batches only round."""
    result = np.empty((len(inputs), model.config.num_labels))
    with evaluation_mode(model):
        for rows, batch in _batches(model, inputs):
            result[rows] = model(**batch).logits.cpu().double().numpy()
    return result


@torch.no_grad()
def compute_features(model: PreTrainedModel, inputs: ClassifierInputs) -> torch.Tensor:
    """Compute the input of the head for all rows: float64 (rows, size), on the CPU."""
    result: torch.Tensor | None = None
    with evaluation_mode(model):
        for rows, batch in _batches(model, inputs):
            part = model.features(**batch).cpu().double()
            result = part.new_zeros(len(inputs), part.shape[1]) if result is None else result
            result[rows] = part
    assert result is not None
    return result


class SentenceClassifierModel:
    """A sentence classifier or scorer with its tokenizer.

    Example:
        >>> classifier = SentenceClassifierModel.from_pretrained("questions")  # doctest: +SKIP
        >>> classifier.classes(["Who wrote Faust?"])  # doctest: +SKIP
        (['HUM'], array([0.97]))
    """

    model_types: ClassVar[tuple[str, ...]] = (MODEL_TYPE,)
    command: ClassVar[str] = "train-supervised"

    def __init__(self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> None:
        self.model = model
        self.tokenizer = tokenizer

    @classmethod
    def from_pretrained(
        cls, folder: str | os.PathLike[str], *, device: str = CPU, revision: str | None = None
    ) -> Self:
        """Open the folder of a classifier, or a repository `namespace/name` of the Hub at a revision."""
        folder = model_folder(folder, revision=revision)
        kind, verb = cls.model_types[-1].replace("_", " "), f"hf-paraphrase {cls.command}"
        model_type = check_model_type(folder, cls.model_types, kind=kind, verb=verb)
        model, tokenizer = load_model_folder(Path(folder), model_class(model_type))
        return cls(model.to(device), tokenizer)

    @property
    def objective(self) -> str:
        """What the model was trained for: classification, multi_label, distribution or regression."""
        return str(getattr(self.model.config, "objective", "classification"))

    @property
    def class_names(self) -> list[str]:
        """The names of the classes, in the order of the logits."""
        return [self.model.config.id2label[index] for index in range(self.model.config.num_labels)]

    def logits(self, first: str | Sequence[str], second: str | Sequence[str] | None = None) -> NDArray[np.float64]:
        """Compute the logits of sentences or pairs (texts, labels)."""
        return predict_logits(self.model, tokenize(self.tokenizer, first, second))

    def classes(
        self, first: str | Sequence[str], second: str | Sequence[str] | None = None
    ) -> tuple[list[str], NDArray[np.float64]]:
        """Classify sentences or pairs; return the most probable class of each and its probability (texts,)."""
        self._check_objective("classes")
        probabilities = softmax(self.logits(first, second), axis=1)
        names = self.class_names
        return [names[index] for index in probabilities.argmax(1)], probabilities.max(1)

    def label_probabilities(
        self, first: str | Sequence[str], second: str | Sequence[str] | None = None
    ) -> NDArray[np.float64]:
        """Compute the probability of each label of a multi-label model (texts, labels), ordered as `class_names`."""
        self._check_objective("label_probabilities")
        return np.asarray(expit(self.logits(first, second)))

    def scores(self, first: str | Sequence[str], second: str | Sequence[str] | None = None) -> NDArray[np.float64]:
        """Score sentences or pairs (texts,)."""
        self._check_objective("scores")
        return np.asarray(self.model.scores(torch.from_numpy(self.logits(first, second))))

    def _check_objective(self, method: str) -> None:
        fitting = {"classification": "classes", "multi_label": "label_probabilities"}.get(self.objective, "scores")
        if method != fitting:
            problem = f"{method} is not for a model of the objective {self.objective}"
            raise UsageError(problem, remedy=f"call {fitting}")


class ReferenceScorer(SentenceClassifierModel):
    """A classifier that distinguishes references from translations, with its tokenizer.

    It also opens the folders of version 0.1 and 0.2, whose model type is `reference_classifier`.
    """

    model_types = (MODEL_TYPE, "reference_classifier")
    command = "train-classifier"

    def __init__(self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> None:
        super().__init__(model, tokenizer)
        if REFERENCE not in (model.config.label2id or {}):
            remedy = "give a folder that hf-paraphrase train-classifier made"
            raise ModelError(f"no class of the model is called {REFERENCE}", path=model.name_or_path, remedy=remedy)

    def probabilities(self, texts: str | Sequence[str]) -> NDArray[np.float64]:
        """Compute P(reference) of each text (texts,)."""
        return reference_probabilities(self.model, tokenize(self.tokenizer, texts))


def reference_probabilities(model: PreTrainedModel, inputs: ClassifierInputs) -> NDArray[np.float64]:
    """Compute P(reference) of sentences (sentences,), rounded so that the batches do not matter."""
    probabilities = softmax(predict_logits(model, inputs), axis=1)[:, model.config.label2id[REFERENCE]]
    return np.asarray(probabilities.round(6))

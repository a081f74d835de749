"""Apply trained classifiers, scorers and cross-encoders to sentences and pairs."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import expit, softmax

from ..artefacts.hub_models import model_folder
from ..artefacts.model_loading import (
    check_model_type,
    load_model_folder,
    load_tokenizer,
    load_transformers_model,
    open_tokenizer_folder,
)
from ..encoders.backends.batch_tokenizer import BatchTokenizer, InputProcessing
from ..encoders.backends.padded_batches import batch_by_length, evaluation_mode
from ..errors import ModelError, UsageError, choice_of
from ..messages import log
from ..models.registry import model_class
from ..tokenization.fast_tokenize import list_of_texts
from ..tokenization.ragged_ids import TokenIds
from ..training.devices import CPU
from ..training.word_vectors import Coverage, WordVectors, fill_embeddings
from .old_classifiers import OLD_TYPE, open_old_classifier

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

MODEL_TYPE = "sentence_classifier"
REFERENCE = "reference"
_TOKENS_PER_BATCH = 16_384
_PAIRS_PER_BATCH, _CHARACTERS_PER_BATCH = 64, 1 << 15
_METHODS = {"classification": "classes", "multi_label": "label_probabilities"}
"""The method for each objective; all others have `scores`."""
Texts = str | Sequence[str]


@dataclass
class ClassifierInputs:
    """Token ids of sentences, or of both sentences of pairs; `targets` (rows, …) are the `labels` of the model."""

    first: TokenIds
    second: TokenIds | None = None
    targets: NDArray[Any] | None = None

    def __len__(self) -> int:
        return len(self.first.offsets) - 1

    def batch(self, rows: Sequence[int] | NDArray[np.int64], pad_token_id: int) -> dict[str, torch.Tensor]:
        """Make a batch of rows, padded on the right, with the argument names of the model's `forward`."""
        rows = np.asarray(rows, np.int64)
        batch: dict[str, torch.Tensor] = {}
        for prefix, tokens in (("", self.first), ("second_", self.second)):
            if tokens is not None:
                ids, mask = tokens.padded(rows, pad_token_id)
                batch[f"{prefix}input_ids"] = torch.from_numpy(ids)
                batch[f"{prefix}attention_mask"] = torch.from_numpy(mask.astype(np.int64))
        if self.targets is not None:
            batch["labels"] = torch.from_numpy(self.targets[rows])
        return batch


def tokenize(
    tokenizer: PreTrainedTokenizerBase, first: Texts, second: Texts | None = None, targets: NDArray[Any] | None = None
) -> ClassifierInputs:
    """Tokenize sentences or pairs without padding, up to the maximum length of a transformer."""
    backend: Any = tokenizer.backend_tokenizer
    longest = tokenizer.model_max_length
    batches = BatchTokenizer(InputProcessing(max_tokens=longest if longest < 1 << 30 else None))

    def ids(texts: Texts) -> TokenIds:
        return TokenIds.joined(batches.tokenize(backend, list_of_texts(texts)))

    inputs = ClassifierInputs(ids(first), None if second is None else ids(second), targets)
    if inputs.second is not None:
        check_pairs(len(inputs), len(inputs.second.offsets) - 1)
    return inputs


def check_pairs(num_first: int, num_second: int) -> None:
    """Check that pairs have equally many first and second sentences."""
    if num_first != num_second:
        raise UsageError(
            f"{num_first} first and {num_second} second texts do not form pairs", remedy="give equally many"
        )


def fill_word_vectors(encoder: Any, tokenizer: Any, vectors: WordVectors, texts: Sequence[str], seed: int) -> Coverage:
    """Write initial vectors into the first rows of an encoder's embeddings; return how many of the words have one."""
    counts = tokenize(tokenizer, texts).first.counts(len(tokenizer))
    coverage = fill_embeddings(encoder.embeddings, tokenizer, vectors, counts, seed)
    log(f"initial vectors: {coverage}")
    return coverage


def predict_logits(
    model: PreTrainedModel, inputs: ClassifierInputs, compute: Callable[..., torch.Tensor] | None = None
) -> NDArray[np.float64]:
    """Compute the logits of all rows (rows, labels), for a regression the scores (rows, 1).

    Batching changes them by rounding only. `compute` replaces the model: it returns the output for a batch.
    """
    lengths = inputs.first.lengths
    if inputs.second is not None:
        lengths = np.maximum(lengths, inputs.second.lengths)
    order: list[int] = []
    parts: list[NDArray[np.float64]] = []
    with evaluation_mode(model), torch.inference_mode():
        # Rows without tokens are scored too.
        for rows in batch_by_length(np.maximum(lengths, 1), len(inputs), _TOKENS_PER_BATCH):
            batch = inputs.batch(rows, model.config.pad_token_id or 0)
            batch.pop("labels", None)
            batch = {name: value.to(model.device) for name, value in batch.items()}
            values = model(**batch).logits if compute is None else compute(**batch)
            parts.append(values.cpu().double().numpy())
            order += rows
    return np.concatenate(parts)[np.argsort(order)] if parts else np.empty((0, model.config.num_labels))


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
        if check_model_type(folder, cls.model_types, kind=kind, verb=verb) == MODEL_TYPE:
            model, tokenizer = load_model_folder(folder, model_class(MODEL_TYPE))
        else:
            model = open_old_classifier(folder)
            tokenizer = load_tokenizer(folder, model.config.vocab_size)
        return cls(model.to(device), tokenizer)

    @property
    def objective(self) -> str:
        """The objective of training: classification, multi_label, distribution or regression."""
        return str(getattr(self.model.config, "objective", "classification"))

    @property
    def class_names(self) -> list[str]:
        """The names of the classes, in the order of the logits."""
        return [self.model.config.id2label[index] for index in range(self.model.config.num_labels)]

    def logits(self, first: Texts, second: Texts | None = None) -> NDArray[np.float64]:
        """Compute the logits of sentences or pairs (texts, labels)."""
        return predict_logits(self.model, tokenize(self.tokenizer, first, second))

    def classes(self, first: Texts, second: Texts | None = None) -> tuple[list[str], NDArray[np.float64]]:
        """Classify sentences or pairs; return the most probable class of each and its probability (texts,)."""
        self._check_objective("classes")
        probabilities = softmax(self.logits(first, second), axis=1)
        names = self.class_names
        return [names[index] for index in probabilities.argmax(1)], probabilities.max(1)

    def label_probabilities(self, first: Texts, second: Texts | None = None) -> NDArray[np.float64]:
        """Compute the probability of each label of a multi-label model (texts, labels), ordered as `class_names`."""
        self._check_objective("label_probabilities")
        return np.asarray(expit(self.logits(first, second)))

    def scores(self, first: Texts, second: Texts | None = None) -> NDArray[np.float64]:
        """Score sentences or pairs (texts,)."""
        self._check_objective("scores")
        return np.asarray(self.model.scores(torch.from_numpy(self.logits(first, second))))

    def _check_objective(self, method: str) -> None:
        fitting = _METHODS.get(self.objective, "scores")
        if method != fitting:
            problem = f"{method} is not for a model of the objective {self.objective}"
            raise UsageError(problem, remedy=f"call {fitting}")


class ReferenceScorer(SentenceClassifierModel):
    """A classifier that distinguishes references from translations, with its tokenizer.

    It also opens the folders of versions 0.1 and 0.2, see :mod:`.old_classifiers`.
    """

    model_types = (MODEL_TYPE, OLD_TYPE)
    command = "train-classifier"

    def __init__(self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> None:
        super().__init__(model, tokenizer)
        if REFERENCE not in (model.config.label2id or {}):
            remedy = "give a folder that hf-paraphrase train-classifier made"
            raise ModelError(f"no class of the model is called {REFERENCE}", path=model.name_or_path, remedy=remedy)

    def probabilities(self, texts: Texts) -> NDArray[np.float64]:
        """Compute P(reference) of each text (texts,)."""
        return compute_reference_probabilities(self.model, tokenize(self.tokenizer, texts))


def compute_reference_probabilities(model: PreTrainedModel, inputs: ClassifierInputs) -> NDArray[np.float64]:
    """Compute P(reference) of sentences (sentences,), rounded so that batching does not change it."""
    probabilities = softmax(predict_logits(model, inputs), axis=1)[:, model.config.label2id[REFERENCE]]
    return np.asarray(probabilities.round(6))


class CrossEncoder:
    """A sequence-classification model of transformers that scores pairs of texts.

    Attributes:
        label: The index of the label whose probability is the score.

    Example:
        >>> cross_encoder = CrossEncoder.from_pretrained("cross-encoder/stsb-distilroberta-base")  # doctest: +SKIP
        >>> cross_encoder.scores(["A man plays a guitar."], ["Someone makes music."])  # doctest: +SKIP
        array([0.52])
    """

    def __init__(self, model: PreTrainedModel, tokenizer: Any, label: int = 0) -> None:
        self.model, self.tokenizer, self.label = model, tokenizer, label
        positions = getattr(model.config, "max_position_embeddings", None) or 512
        self.max_length = min(tokenizer.model_max_length, positions)

    @classmethod
    def from_pretrained(
        cls, name: str | os.PathLike[str], *, label: str | None = None, device: str = CPU
    ) -> CrossEncoder:
        """Open a cross-encoder by its folder or its name on the Hub.

        The probability of the label of this name, such as `entailment`, is the score; a model with a single label
        needs no name.
        """
        folder = model_folder(name, any_type=True)
        remedy = "give a cross-encoder of transformers, such as a model for NLI, similarity or ranking"
        model = load_transformers_model(
            folder, "AutoModelForSequenceClassification", kind="cross-encoder", remedy=remedy
        )
        tokenizer = open_tokenizer_folder(folder)
        if tokenizer.pad_token_id is None or model.config.pad_token_id is None:
            raise ModelError("the cross-encoder has no padding token", path=folder, remedy=remedy)
        labels = {text.lower(): index for index, text in model.config.id2label.items()}
        if label is None and len(labels) > 1:
            remedy = f"name the label whose probability is the score: {', '.join(labels)}"
            raise ModelError(f"the model has {len(labels)} labels, not one score", path=folder, remedy=remedy)
        if label is not None and label.lower() not in labels:
            raise ModelError(f"the model has no label `{label}`", path=folder, remedy=choice_of(label, list(labels)))
        return cls(model.to(device), tokenizer, 0 if label is None else labels[label.lower()])

    @torch.inference_mode()
    def scores(self, first: Texts, second: Texts) -> NDArray[np.float64]:
        """Compute the probability of the label, or the sigmoid of a single output, from 0 to 1 (pairs,).

        The order of the texts of a pair matters; long pairs are truncated. Scores are rounded, so that batching does
        not change them.
        """
        first, second = list_of_texts(first), list_of_texts(second)
        check_pairs(len(first), len(second))
        lengths = np.array([len(one) + len(two) + 1 for one, two in zip(first, second, strict=True)], np.int64)
        scores = np.empty(len(lengths))
        config = self.model.config
        is_sigmoid = config.num_labels == 1 or config.problem_type == "multi_label_classification"
        for rows in batch_by_length(lengths, _PAIRS_PER_BATCH, _CHARACTERS_PER_BATCH):
            batch = self.tokenizer(
                [first[row] for row in rows],
                [second[row] for row in rows],
                padding=True,
                truncation=True,
                max_length=self.max_length,
                return_tensors="pt",
            ).to(self.model.device)
            logits = self.model(**batch).logits.double()
            probabilities = logits.sigmoid() if is_sigmoid else logits.softmax(1)
            scores[rows] = probabilities[:, self.label].cpu().numpy()
        return scores.round(6)

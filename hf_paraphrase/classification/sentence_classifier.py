"""Sentence classifiers: classes and scores of sentences and pairs, and how a head and its encoder are trained."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import expit, softmax
from torch import Tensor, nn

from ..artefacts.hub_models import model_folder
from ..artefacts.model_loading import check_model_type, load_model_folder
from ..encoders.backends.padded_batches import batches_of_like_length
from ..errors import UsageError
from ..models.registry import model_class
from ..tokenization.fast_tokenize import list_of_texts
from ..tokenization.ragged_ids import TokenIds
from ..training.batches import EpochBatches, Item
from ..training.devices import CPU
from ..training.epoch_trainer import EpochTrainer, EpochTrainingArguments
from .tasks import CRITERIA, Scores, class_scores, graded_scores, label_scores

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

MODEL_TYPE = "sentence_classifier"
_TOKENS_PER_BATCH = 16_384
_WORD_VECTORS = ("embeddings", "embeddings.word_embeddings.weight")
CRITERION = "criterion"
"""The key of what the epoch is chosen by: accuracy in per cent, or micro F1 or Pearson's r × 100."""


@dataclass
class ClassifierInputs:
    """Token ids of sentences or both sides of pairs; `targets` are those of the model's `forward`, rows first."""

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
    """Computes the token ids of sentences or pairs without padding, no more than a transformer reads."""
    backend: Any = tokenizer.backend_tokenizer
    backend.no_padding()
    backend.no_truncation()
    if tokenizer.model_max_length < 1 << 30:
        backend.enable_truncation(tokenizer.model_max_length)

    def ids(texts: str | Sequence[str]) -> TokenIds:
        return TokenIds.of_lists(
            [item.ids for item in backend.encode_batch_fast(list_of_texts(texts), add_special_tokens=True)]
        )

    return ClassifierInputs(ids(first), None if second is None else ids(second), targets)


@torch.inference_mode()
def predicted_logits(model: PreTrainedModel, inputs: ClassifierInputs) -> NDArray[np.float64]:
    """Computes the logits of all rows (rows, labels), of a regression its scores (rows, 1).

    The model is in evaluation mode for the time; batches change a result by rounding at most.
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
        self._check_objective("classes")
        probabilities = softmax(self.logits(first, second), axis=1)
        return [self.class_names[number] for number in probabilities.argmax(1)], probabilities.max(1)

    def label_probabilities(
        self, first: str | Sequence[str], second: str | Sequence[str] | None = None
    ) -> NDArray[np.float64]:
        """Computes the probability of each label of a multi-label model (texts, labels), as `class_names` has them."""
        self._check_objective("label_probabilities")
        return np.asarray(expit(self.logits(first, second)))

    def scores(self, first: str | Sequence[str], second: str | Sequence[str] | None = None) -> NDArray[np.float64]:
        """Scores sentences or pairs (texts,)."""
        self._check_objective("scores")
        return np.asarray(self.model.scores(torch.from_numpy(self.logits(first, second))))

    def _check_objective(self, method: str) -> None:
        objective = self.model.config.objective
        fitting = {"classification": "classes", "multi_label": "label_probabilities"}.get(objective, "scores")
        if method != fitting:
            raise UsageError(f"{method} is not for a model of the objective {objective}", remedy=f"call {fitting}")


@dataclass
class SupervisedTrainingArguments(EpochTrainingArguments):
    """`TrainingArguments` of supervised training."""

    per_device_train_batch_size: int = field(default=25, metadata={"help": "rows per batch and process"})
    learning_rate: float = field(default=1e-3, metadata={"help": "learning rate of Adam"})
    num_train_epochs: float = field(default=10.0, metadata={"help": "passes over the training part"})
    lambda_w: float = field(default=0.0, metadata={"help": "weight of the word vectors' distance from their start"})
    lambda_c: float = field(default=0.0, metadata={"help": "weight of the encoder's other parameters' distance"})


class SupervisedTrainer(EpochTrainer):
    """Trains a `SentenceClassifier`, its encoder included, by the loss of its objective and two penalties.

        0.5 λ_w ‖W − W₀‖² + 0.5 λ_c ‖θ_c − θ_c₀‖²

    are added, where W are the encoder's word vectors, θ_c its other parameters that have a gradient, and W₀ and θ_c₀
    their values at the start: "Regularize to Unsupervised Representations" of paper 001, in the form of Wieting et al.
    2016. The weights of the best epoch by the criterion on the dev part are kept, the earliest of equals.
    """

    criterion = CRITERION

    def __init__(
        self,
        model: PreTrainedModel,
        args: SupervisedTrainingArguments,
        train: ClassifierInputs,
        dev: ClassifierInputs,
        report: Callable[[str], None] | None = None,
    ) -> None:
        self.inputs = train
        self.dev = dev
        batches = EpochBatches(len(train), args.per_device_train_batch_size, args.seed, args.world_size)
        super().__init__(model, args, batches, self._collate, dev_size=len(dev), report=report)
        # On the device by now.
        self.start = {name: value.detach().clone() for name, _, value in self._penalized()}

    def _collate(self, items: Sequence[Item]) -> dict[str, Tensor]:
        rows = np.array([row for _, row in items], np.int64)
        return self.inputs.batch(rows, self.model.config.pad_token_id or 0)

    def _penalized(self) -> Iterator[tuple[str, float, Tensor]]:
        """Yields name, weight and value of the parameters with a penalty."""
        model = self.accelerator.unwrap_model(self.model)
        for name, value in model.encoder.named_parameters():
            weight = self.args.lambda_w if name in _WORD_VECTORS else self.args.lambda_c
            if weight > 0 and value.requires_grad:
                yield name, weight, value

    def penalty(self) -> Tensor | float:
        """Computes the penalties for the parameters as they are now."""
        total: Tensor | float = 0.0
        for name, weight, value in self._penalized():
            total = total + 0.5 * weight * (value - self.start[name]).square().sum()
        return total

    def loss_of(self, output: Any, model: nn.Module, inputs: dict[str, Any]) -> Tensor:
        """Returns the loss of the objective with the penalties."""
        return super().loss_of(output, model, inputs) + self.penalty()

    def evaluate(self, *args: Any, **kwargs: Any) -> dict[str, float]:
        """Evaluates the dev part and reports it."""
        scores = self.measure(self.dev)
        name, found = next((name, float(scores[name])) for name in CRITERIA if name in scores)
        scores.pop("f1", None)
        metrics = {f"eval_{name}": value for name, value in {CRITERION: found, **scores}.items()}
        return self.report_scores(metrics, f"epoch {self.state.epoch or 0:g}: dev {CRITERIA[name]} {found:.2f}")

    def measure(self, inputs: ClassifierInputs) -> Scores:
        """Evaluates a part whose targets are known."""
        assert inputs.targets is not None
        model = self.accelerator.unwrap_model(self.model)
        logits = predicted_logits(model, inputs)
        if model.config.objective == "classification":
            return class_scores(logits.argmax(1), inputs.targets, model.config.num_labels)
        if model.config.objective == "multi_label":
            return label_scores(logits >= 0, inputs.targets > 0, list(model.config.id2label.values()))
        return graded_scores(model.scores(torch.from_numpy(logits)).numpy(), inputs.targets.astype(np.float64))

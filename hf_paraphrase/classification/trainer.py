"""The trainer of all classifiers, and the examples that it can learn from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from ..training.batches import EpochBatches, Item
from ..training.epoch_trainer import EpochTrainer, EpochTrainingArguments
from ..training.sparse_gradients import SparseGradientTrainer
from .classifier import ClassifierInputs, compute_features, predict_logits
from .scores import CRITERIA, Scores, class_scores, graded_scores, label_scores

CRITERION = "criterion"
"""The name of the dev score that chooses the epoch: accuracy in per cent, or micro F1 or Pearson's r × 100."""


class Examples:
    """What a :class:`ClassifierTrainer` learns from, and the dev part that chooses the epoch.

    Attributes:
        criterion: The name of the dev score that chooses the epoch.
        dev_size: The number of rows of the dev part; None without one.
    """

    criterion: str = CRITERION
    dev_size: int | None = None

    def __len__(self) -> int:
        """The number of examples of an epoch."""
        raise NotImplementedError

    def begin_epoch(self, seed: int, epoch: int, model: PreTrainedModel) -> None:
        """Make the random draws of an epoch, counted from 0."""

    def batch(self, items: Sequence[Item], model: PreTrainedModel, seed: int) -> dict[str, Tensor]:
        """Make the batch of some (epoch, index) of examples, with the argument names of the model's `forward`."""
        raise NotImplementedError

    def dev_scores(self, model: PreTrainedModel, seed: int) -> tuple[dict[str, float], str]:
        """Score a model on the dev part; return the scores, and a line about them for the user."""
        raise NotImplementedError


class LabelledExamples(Examples):
    """Rows with known targets to train on and to choose the epoch on."""

    def __init__(self, train: ClassifierInputs, dev: ClassifierInputs) -> None:
        self.train, self.dev, self.dev_size = train, dev, len(dev)

    def __len__(self) -> int:
        return len(self.train)

    def batch(self, items: Sequence[Item], model: PreTrainedModel, seed: int) -> dict[str, Tensor]:
        """Make a batch of rows."""
        return self.train.batch(np.array([row for _, row in items], np.int64), model.config.pad_token_id or 0)

    def dev_scores(self, model: PreTrainedModel, seed: int) -> tuple[dict[str, float], str]:
        """Score the dev part."""
        scores = measure_classifier(model, self.dev)
        name = next(name for name in CRITERIA if name in scores)
        scores.pop("f1", None)
        return {CRITERION: float(scores[name]), **scores}, f"dev {CRITERIA[name]} {scores[name]:.2f}"


@dataclass
class ClassifierTrainingArguments(EpochTrainingArguments):
    """`TrainingArguments` of classifiers."""

    per_device_train_batch_size: int = field(default=25, metadata={"help": "rows per batch and process"})
    learning_rate: float = field(default=1e-3, metadata={"help": "learning rate of Adam"})
    num_train_epochs: float = field(default=10.0, metadata={"help": "passes over the training part"})
    lambda_w: float = field(default=0.0, metadata={"help": "weight of the word vectors' distance from their start"})
    lambda_c: float = field(default=0.0, metadata={"help": "weight of the encoder's other parameters' distance"})
    row_penalty: float = field(default=0.0, metadata={"help": "like lambda_w, over the word vectors of a batch"})
    embedding_penalty: float = field(default=0.0, metadata={"help": "weight of the squared norm of the word vectors"})


class ClassifierTrainer(SparseGradientTrainer, EpochTrainer):
    """Train a classifier, its encoder included, by the model's loss and penalties.

        0.5 λ_w ‖W − W₀‖² + 0.5 λ_c ‖θ_c − θ_c₀‖² + 0.5 · embedding_penalty · ‖W‖²

    are added. W are the encoder's word vectors, θ_c its other parameters that have a gradient, W₀ and θ_c₀ their
    initial values: "Regularize to Unsupervised Representations" of Gimpel et al., in the form of Wieting et al.
    (2016). The last term is the L2 regularizer of Wieting et al. (2017), with the factor 0.5 of the authors' other
    code. The weights of the best epoch on the dev part are kept, of the earliest one among equals.

    Word vectors have sparse gradients, and a step updates the rows of its batch alone, unless a penalty on all word
    vectors or another optimizer is asked for. Then 0.5 · row_penalty · ‖W_b − W₀_b‖² is added, over the word vectors
    of the batch.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        args: EpochTrainingArguments,
        examples: Examples,
        *,
        batch_size: int | None = None,
        report: Callable[[str], None] | None = None,
    ) -> None:
        self.examples, self.criterion = examples, examples.criterion
        size = args.per_device_train_batch_size if batch_size is None else batch_size
        batches = EpochBatches(len(examples), size, args.seed, args.world_size)
        encoder = getattr(model, "encoder", model)
        self._weights = {name: getattr(args, name, 0.0) for name in ("lambda_w", "lambda_c", "embedding_penalty")}
        vectors = encoder.get_input_embeddings().weight
        if hasattr(encoder, "sparse_gradients") and vectors.requires_grad:
            penalized = self._weights["lambda_w"] > 0 or self._weights["embedding_penalty"] > 0
            self.sparse_gradients = encoder.sparse_gradients = not (args.names_optimizer or penalized)
        self._word_vectors = next(name for name, value in encoder.named_parameters() if value is vectors)
        super().__init__(model, args, batches, self._collate, dev_size=examples.dev_size, report=report)
        self.row_penalty = getattr(args, "row_penalty", 0.0) if self.sparse_gradients else 0.0
        self.initial_rows = vectors.detach().clone() if self.row_penalty > 0 else None
        # On the device by now.
        self.start = {name: value.detach().clone() for name, weight, value in self._penalized() if weight > 0}

    @property
    def unwrapped(self) -> PreTrainedModel:
        """The model without the wrappers of training."""
        model: PreTrainedModel = self.accelerator.unwrap_model(self.model)
        return model

    def begin_epoch(self, epoch: int) -> None:
        """Set the order and the draws of an epoch, counted from 0."""
        super().begin_epoch(epoch)
        self.examples.begin_epoch(self.args.seed, epoch, self.unwrapped)

    def _collate(self, items: Sequence[Item]) -> dict[str, Tensor]:
        return self.examples.batch(items, self.unwrapped, self.args.seed)

    def _penalized(self) -> Iterator[tuple[str, float, Tensor]]:
        """Yield name, weight and value of the encoder's parameters that have a gradient."""
        model = self.unwrapped
        for name, value in getattr(model, "encoder", model).named_parameters():
            if value.requires_grad:
                yield name, self._weights["lambda_w" if name == self._word_vectors else "lambda_c"], value

    def penalty(self) -> Tensor | float:
        """Compute the penalties for the current parameters."""
        total: Tensor | float = 0.0
        for name, weight, value in self._penalized():
            if weight > 0:
                total = total + 0.5 * weight * (value - self.start[name]).square().sum()
            if name == self._word_vectors and self._weights["embedding_penalty"] > 0:
                total = total + 0.5 * self._weights["embedding_penalty"] * value.square().sum()
        return total

    def loss_of(self, output: Any, model: nn.Module, inputs: dict[str, Any]) -> Tensor:
        """Return the loss of the objective with the penalties."""
        return super().loss_of(output, model, inputs) + self.penalty() + self._row_penalty(inputs)

    def _row_penalty(self, inputs: dict[str, Any]) -> Tensor | float:
        if self.initial_rows is None:
            return 0.0
        sides = [inputs[name].flatten() for name in ("input_ids", "second_input_ids") if name in inputs]
        rows = torch.cat(sides).unique()
        vectors = self.unwrapped.encoder.embeddings
        moved = nn.functional.embedding(rows, vectors, sparse=True) - self.initial_rows.to(vectors.device)[rows]
        return 0.5 * self.row_penalty * moved.square().sum()

    def evaluate(self, *args: Any, **kwargs: Any) -> dict[str, float]:
        """Score the dev part and report it."""
        scores, line = self.examples.dev_scores(self.unwrapped, self.args.seed)
        metrics = {f"eval_{name}": float(value) for name, value in scores.items()}
        return self.report_scores(metrics, f"epoch {self.state.epoch or 0:g}: {line}")


def measure_classifier(model: PreTrainedModel, inputs: ClassifierInputs) -> Scores:
    """Score a model on rows whose targets are known."""
    assert inputs.targets is not None
    logits = predict_logits(model, inputs)
    if model.config.objective == "classification":
        return class_scores(logits.argmax(1), inputs.targets, model.config.num_labels)
    if model.config.objective == "multi_label":
        return label_scores(logits >= 0, inputs.targets > 0, list(model.config.id2label.values()))
    return graded_scores(model.scores(torch.from_numpy(logits)).numpy(), inputs.targets.astype(np.float64))


def fit_head(model: PreTrainedModel, inputs: ClassifierInputs) -> None:
    """Fit the head of a sentence classifier to convergence by L-BFGS, with the encoder as it is.

    It minimizes the sum of the losses of all rows plus 0.5 c ‖W‖², W being the matrices of the head. For single
    sentences c is 1, so that the head for classes is the logistic regression of scikit-learn with its default C = 1.
    For pairs c is 0.01: a larger penalty would keep the hidden layer at zero.
    """
    features, targets = compute_features(model, inputs), torch.from_numpy(np.asarray(inputs.targets))
    layers = [layer for layer in (model.hidden, model.classifier) if layer is not None]
    device, dtype = model.classifier.weight.device, model.classifier.weight.dtype
    for layer in layers:
        layer.to("cpu", torch.float64)
    strength = 1.0 if model.hidden is None else 0.01
    if model.hidden is None:
        # The minimum does not depend on the start, the number of steps does.
        nn.init.zeros_(model.classifier.weight)
    parameters = [parameter for layer in layers for parameter in layer.parameters()]
    optimizer = torch.optim.LBFGS(
        parameters,
        max_iter=2000,
        tolerance_grad=1e-8,
        tolerance_change=1e-13,
        history_size=20,
        line_search_fn="strong_wolfe",
    )

    def closure() -> Tensor:
        optimizer.zero_grad()
        penalty = sum(layer.weight.square().sum() for layer in layers)
        loss = model.loss(model.head(features), targets) + 0.5 * strength * penalty / len(inputs)
        loss.backward()
        return loss

    was_training = model.training
    model.eval()
    optimizer.step(closure)
    optimizer.zero_grad()
    model.train(was_training)
    for layer in layers:
        layer.to(device, dtype)

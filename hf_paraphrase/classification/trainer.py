"""The trainer of all classifiers, the kinds of training examples, and the fit of a head to a frozen encoder."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from transformers import PreTrainedModel, PreTrainedTokenizerFast

from ..encoders.backends.padded_batches import evaluation_mode
from ..tokenization.ragged_ids import ends_of
from ..training.batches import EpochBatches, Item
from ..training.epoch_trainer import EpochTrainer, EpochTrainingArguments
from ..training.sparse_gradients import SparseGradientTrainer
from .classifier import ClassifierInputs, compute_reference_probabilities, predict_logits, tokenize
from .references import Reference, list_texts
from .scores import CRITERIA, Scores, compare_classes, compare_scores

# The draws of epochs are numbered from 0.
_DEV_DRAW = 1 << 32


class Examples:
    """Rows to train a :class:`ClassifierTrainer` on, and a dev part that chooses the epoch.

    Attributes:
        criterion: The name of the dev score that chooses the epoch: by default accuracy in per cent, or micro F1 or
            Pearson's r × 100.
        dev_size: The number of rows of the dev part; None without one.
    """

    criterion: str = "criterion"
    dev: Any
    dev_size: int | None = None

    def __init__(self, train: ClassifierInputs, dev: ClassifierInputs) -> None:
        self.train, self.dev, self.dev_size = train, dev, len(dev)

    def __len__(self) -> int:
        """Return the number of examples of an epoch."""
        return len(self.train)

    def begin_epoch(self, seed: int, epoch: int, model: PreTrainedModel) -> None:
        """Make the random draws of an epoch, counted from 0."""

    def batch(self, items: Sequence[Item], model: PreTrainedModel, seed: int) -> dict[str, Tensor]:
        """Make a batch from the epoch and index of each example, with the argument names of the model's `forward`."""
        return self.train.batch([row for _, row in items], model.config.pad_token_id or 0)

    def dev_scores(self, model: PreTrainedModel, seed: int) -> tuple[dict[str, float], str]:
        """Score a model on the dev part; return the scores, and a line about them for the user."""
        scores = measure_classifier(model, self.dev)
        name = next(name for name in CRITERIA if name in scores)
        scores.pop("f1", None)
        return {self.criterion: float(scores[name]), **scores}, f"dev {CRITERIA[name]} {scores[name]:.2f}"


@dataclass
class ReferenceLists:
    """Tokenized references and their n-best lists.

    Attributes:
        inputs: The references, label 1, then the translations, label 0, list by list.
        lists: The first row of each reference's n-best list, then the number of rows (references + 1,), int64.
    """

    inputs: ClassifierInputs
    lists: NDArray[np.int64]

    @classmethod
    def encode(cls, references: Sequence[Reference], tokenizer: PreTrainedTokenizerFast) -> ReferenceLists:
        """Tokenize references and translations."""
        sizes = [len(reference.translations) for reference in references]
        labels = np.repeat(np.array([1, 0]), [len(sizes), sum(sizes)])
        inputs = tokenize(tokenizer, list_texts(references), targets=labels)
        return cls(inputs, len(sizes) + ends_of(np.array(sizes, np.int64)))

    def __len__(self) -> int:
        return len(self.lists) - 1

    def choose(self, seed: Sequence[int], model: PreTrainedModel | None = None) -> NDArray[np.int64]:
        """Choose one translation of each reference as the example of the label `translation` (references,).

        Without a model it is drawn from the list. A model chooses the first of the translations with the highest
        probability of being a reference (Wieting et al. 2017, section 5.6.1).
        """
        sizes = np.diff(self.lists)
        if model is None:
            return self.lists[:-1] + np.random.default_rng(list(seed)).integers(sizes)
        translations = ClassifierInputs(self.inputs.first.part(int(self.lists[0]), int(self.lists[-1])))
        scores = compute_reference_probabilities(model, translations)
        best = np.lexsort((-scores, np.repeat(np.arange(len(self)), sizes)))
        return self.lists[0] + best[self.lists[:-1] - self.lists[0]]

    def test(self, model: PreTrainedModel, seed: int) -> dict[str, float]:
        """Classify every reference and one drawn translation of each (Wieting et al. 2017, table 8).

        Returns:
            The accuracy in per cent: `accuracy` on both together, on `references` and on `translations`; and the
            number of `sentences`. A probability of exactly 0.5 counts as `translation`.
        """
        rows = np.concatenate([np.arange(len(self)), self.choose([seed, _DEV_DRAW])])
        is_right = compute_reference_probabilities(model, ClassifierInputs(self.inputs.first.take(rows))) > 0.5
        is_right[len(self) :] ^= True
        return {
            "accuracy": 100.0 * float(is_right.mean()),
            "references": 100.0 * float(is_right[: len(self)].mean()),
            "translations": 100.0 * float(is_right[len(self) :].mean()),
            "sentences": len(is_right),
        }


class ReferenceExamples(Examples):
    """References with their n-best lists.

    An epoch has every reference once and, for each, one translation of its list: drawn, or the `hardest` one (see
    :meth:`ReferenceLists.choose`).
    """

    criterion = "accuracy"

    def __init__(self, train: ReferenceLists, dev: ReferenceLists, *, hardest: bool = False) -> None:
        self.references, self.dev_references, self.dev_size, self.hardest = train, dev, len(dev), hardest
        self.chosen = train.lists[:-1]

    def __len__(self) -> int:
        return 2 * len(self.references)

    def begin_epoch(self, seed: int, epoch: int, model: PreTrainedModel) -> None:
        """Choose the translations of an epoch; before the first epoch the model is untrained, so they are drawn."""
        self.chosen = self.references.choose([seed, epoch], model if self.hardest and epoch else None)

    def batch(self, items: Sequence[Item], model: PreTrainedModel, seed: int) -> dict[str, Tensor]:
        """Make a batch of references and chosen translations."""
        indices, size = np.array([index for _, index in items], np.int64), len(self.references)
        rows = np.where(indices < size, indices, self.chosen[indices % size])
        return self.references.inputs.batch(rows, model.config.pad_token_id or 0)

    def dev_scores(self, model: PreTrainedModel, seed: int) -> tuple[dict[str, float], str]:
        """Compute the accuracy on the dev part."""
        scores = self.dev_references.test(model, seed)
        return scores, f"dev accuracy {scores['accuracy']:.2f}"


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
    """Train a classifier, its encoder included, on the model's loss plus the penalties.

        0.5 λ_w ‖W − W₀‖² + 0.5 λ_c ‖θ_c − θ_c₀‖² + 0.5 · embedding_penalty · ‖W‖²

    W are the encoder's word vectors, θ_c its other parameters that have a gradient, W₀ and θ_c₀ their initial values:
    "Regularize to Unsupervised Representations" of Gimpel et al., in the form of Wieting et al. (2016). The last term
    is the L2 regularizer of Wieting et al. (2017), with the factor 0.5 of the authors' other code. The weights of the
    best epoch on the dev part are kept, the earliest of equally good ones.

    Word vectors have sparse gradients, and a step updates the rows of its batch alone, unless a penalty on all word
    vectors or another optimizer is requested. Then 0.5 · row_penalty · ‖W_b − W₀_b‖² is added, over the word vectors
    of the batch.
    """

    args: Any

    def __init__(
        self,
        model: PreTrainedModel,
        args: ClassifierTrainingArguments,
        examples: Examples,
        *,
        report: Callable[[str], None] | None = None,
    ) -> None:
        self.examples, self.criterion = examples, examples.criterion
        batches = EpochBatches(len(examples), args.per_device_train_batch_size, args.seed, args.world_size)
        encoder = getattr(model, "encoder", model)
        vectors = encoder.get_input_embeddings().weight
        if hasattr(encoder, "sparse_gradients") and vectors.requires_grad:
            are_penalized = args.lambda_w > 0 or args.embedding_penalty > 0
            self.sparse_gradients = encoder.sparse_gradients = not (args.names_optimizer or are_penalized)
        self._word_vectors = next(name for name, value in encoder.named_parameters() if value is vectors)
        super().__init__(model, args, batches, self._collate, dev_size=examples.dev_size, report=report)
        has_row_penalty = self.sparse_gradients and args.row_penalty > 0
        self.initial_rows = vectors.detach().clone() if has_row_penalty else None
        # The model is on its device now.
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
                yield name, self.args.lambda_w if name == self._word_vectors else self.args.lambda_c, value

    def penalty(self) -> Tensor | float:
        """Compute the penalties for the current parameters, except the row penalty."""
        total: Tensor | float = 0.0
        for name, weight, value in self._penalized():
            if weight > 0:
                total = total + 0.5 * weight * (value - self.start[name]).square().sum()
            if name == self._word_vectors and self.args.embedding_penalty > 0:
                total = total + 0.5 * self.args.embedding_penalty * value.square().sum()
        return total

    def loss_of(self, output: Any, model: nn.Module, inputs: dict[str, Any]) -> Tensor:
        """Return the loss of the objective with the penalties."""
        loss = super().loss_of(output, model, inputs) + self.penalty()
        if self.initial_rows is None:
            return loss
        sides = [inputs[name].flatten() for name in ("input_ids", "second_input_ids") if name in inputs]
        rows = torch.cat(sides).unique()
        vectors = self.unwrapped.encoder.embeddings
        moved = nn.functional.embedding(rows, vectors, sparse=True) - self.initial_rows.to(vectors.device)[rows]
        return loss + 0.5 * self.args.row_penalty * moved.square().sum()

    def evaluate(self, *args: Any, **kwargs: Any) -> dict[str, float]:
        """Score the dev part and report it."""
        scores, line = self.examples.dev_scores(self.unwrapped, self.args.seed)
        metrics = {f"eval_{name}": float(value) for name, value in scores.items()}
        return self.report_scores(metrics, f"epoch {self.state.epoch or 0:g}: {line}")


def measure_classifier(model: PreTrainedModel, inputs: ClassifierInputs) -> Scores:
    """Score a model on rows with targets."""
    targets: NDArray[Any] = np.asarray(inputs.targets)
    logits = predict_logits(model, inputs)
    if model.config.objective in {"distribution", "regression"}:
        return compare_scores(model.scores(torch.from_numpy(logits)).numpy(), targets.astype(np.float64))
    names = list(model.config.id2label.values())
    if model.config.objective == "multi_label":
        return compare_classes(logits >= 0, targets > 0, names, multi_label=True)
    one_hot = np.eye(len(names), dtype=bool)
    return compare_classes(one_hot[logits.argmax(1)], one_hot[targets], names)


def fit_head(model: PreTrainedModel, inputs: ClassifierInputs) -> None:
    """Fit the head of a sentence classifier to convergence by L-BFGS, with the encoder frozen.

    It minimizes the sum of the losses of all rows plus 0.5 c ‖W‖², W being the matrices of the head. For single
    sentences c is 1, so that the head for classes is the logistic regression of scikit-learn with its default C = 1.
    For pairs c is 0.01: a larger penalty would keep the hidden layer at zero.
    """
    features = torch.from_numpy(predict_logits(model, inputs, model.features))
    targets = torch.from_numpy(np.asarray(inputs.targets))
    layers: Any = nn.ModuleList(layer for layer in (model.hidden, model.classifier) if layer is not None)
    device, dtype = model.classifier.weight.device, model.classifier.weight.dtype
    layers.to("cpu", torch.float64)
    strength = 1.0 if model.hidden is None else 0.01
    if model.hidden is None:
        # The minimum does not depend on the start, the number of steps does.
        nn.init.zeros_(model.classifier.weight)
    optimizer = torch.optim.LBFGS(
        layers.parameters(),
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

    with evaluation_mode(model):
        optimizer.step(closure)
    optimizer.zero_grad()
    layers.to(device, dtype)

"""Trains a student on the teachers' vectors, with the Trainer of transformers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from ...artefacts.weights import TABLE
from ...errors import UsageError
from ...training.epoch_trainer import EpochTrainingArguments
from ...training.sparse_gradients import DenseGradients, RowAdam
from ..sentence_encoder import SentenceEncoder
from ..trainer import EncoderTrainer, Evaluator
from .char_ngrams import CharNgramEmbeddings
from .objective import DistillationObjective, DistillationTexts
from .settings import ObjectiveSettings


@dataclass
class DistillationTrainingArguments(ObjectiveSettings, EpochTrainingArguments):
    """`TrainingArguments` with the settings of the objectives.

    The learning rate decays linearly to zero, and gradients are not clipped.
    """

    per_device_train_batch_size: int = field(default=1024, metadata={"help": "texts per batch"})
    learning_rate: float = field(default=1e-2, metadata={"help": "learning rate of tables of vectors"})
    num_train_epochs: float = field(default=6.0, metadata={"help": "passes over the texts"})
    lr_scheduler_type: Any = field(default="linear", metadata={"help": "schedule of the learning rates"})
    # With 0.999 the first steps of a rare row are three times as long: its moments start from nothing.
    adam_beta2: float = field(default=0.99, metadata={"help": "decay of the second moment"})
    save_total_limit: int | None = field(default=2, metadata={"help": "checkpoints kept: the best and the last one"})

    def __post_init__(self) -> None:
        ObjectiveSettings(**{option.name: getattr(self, option.name) for option in fields(ObjectiveSettings)}).check()
        super().__post_init__()


class DistillationTrainer(EncoderTrainer):
    """Trains an encoder to imitate the vectors, or the cosines, of its teachers, in one process.

    Each step runs the model with the table rows of its batch only (:mod:`.objective`), so training is as fast with a
    large vocabulary as with a small one. `RowAdam` updates these rows, and like Adam all other parameters; with
    `dense_optimizer` it updates all rows like Adam.

    The model is scored before training and after every epoch. When :meth:`train` returns, the model has the best
    weights, or the last ones without an evaluator, with the character n-grams folded into the table. A killed run that
    continues with `train(resume_from_checkpoint=...)` ends with the same weights.

    Args:
        model: An encoder, also of a user's class (see :mod:`..architectures`).
        args: The training arguments.
        train_dataset: The texts and their targets.
        processing_class: The tokenizer.
        evaluator: Scores the encoder on dev data.
        letters: The character n-grams of the tokens, if used; None after training.
        report: Called with a line of text at every score.
    """

    args: Any
    training_objective: DistillationObjective

    def __init__(
        self,
        model: PreTrainedModel,
        args: DistillationTrainingArguments,
        train_dataset: DistillationTexts,
        processing_class: PreTrainedTokenizerBase,
        evaluator: Evaluator | None = None,
        *,
        letters: CharNgramEmbeddings | None = None,
        report: Callable[[str], None] | None = None,
    ) -> None:
        if args.world_size > 1:
            raise UsageError("a distillation runs in one process", remedy="start one process")
        self.letters = letters
        super().__init__(
            model,
            args,
            None,
            processing_class,
            evaluator=evaluator,
            report=report,
            objective=DistillationObjective(model, args, train_dataset, letters),
        )
        if args.names_optimizer or args.dense_optimizer:
            self.add_callback(DenseGradients())

    def create_optimizer(self, model: nn.Module | None = None) -> torch.optim.Optimizer:
        """Make Adam, over rows in the tables, or the optimizer that the arguments name.

        The tables have a learning rate of their own.
        """
        if self.optimizer is not None:
            return self.optimizer
        tables: list[nn.Parameter] = []
        others: list[nn.Parameter] = []
        for name, parameter in (model or self.model).named_parameters():
            (tables if name.rpartition(".")[2] == TABLE else others).append(parameter)
        if self.letters is not None:
            tables.append(self.letters.table)
        if self.training_objective.projection is not None:
            others.append(self.training_objective.projection)
        groups = [
            {"params": parameters, "lr": rate}
            for parameters, rate in ((tables, self.args.learning_rate), (others, self.args.network_learning_rate))
            if parameters
        ]
        if self.args.names_optimizer:
            kind, options = self.get_optimizer_cls_and_kwargs(self.args, self.model)
            self.optimizer = kind([{**group, "weight_decay": self.args.weight_decay} for group in groups], **options)
        else:
            betas = (self.args.adam_beta1, self.args.adam_beta2)
            self.optimizer = RowAdam(groups, betas=betas, eps=self.args.adam_epsilon)
        return self.optimizer

    @contextmanager
    def trained_encoder(self) -> Iterator[SentenceEncoder]:
        """Yield the current encoder with the character n-grams folded into its table."""
        embeddings = self.model.get_parameter(TABLE)
        own = embeddings.data
        if self.letters is not None:
            embeddings.data = self.letters.folded(own)
        try:
            yield self.encoder
        finally:
            embeddings.data = own

    def train(self, resume_from_checkpoint: str | bool | None = None, **kwargs: Any) -> Any:
        """Score the model and train it; a resumed run has the first score in its checkpoint.

        With zero epochs the model is only scored.
        """
        try:
            return super().train(resume_from_checkpoint=resume_from_checkpoint, **kwargs)
        finally:
            if self.letters is not None:
                embeddings = self.model.get_parameter(TABLE)
                embeddings.data = self.letters.folded(embeddings.data)
                self.letters = None

    def _save(self, output_dir: str | None = None, state_dict: dict[str, Tensor] | None = None) -> None:
        with self.trained_encoder():
            super()._save(output_dir, dict(self.model.state_dict()))

    def _load_best_model(self) -> None:
        super()._load_best_model()
        # The n-grams are folded into the weights of a checkpoint already.
        self.letters = None

"""Trains a student on what its teachers say, on the Trainer of transformers and so on Accelerate."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel, PreTrainedTokenizerBase, TrainerCallback

from ...errors import UsageError
from ...training.epoch_trainer import EpochTrainingArguments
from ...training.row_adam import RowAdam
from ...training.sparse_gradients import DenseGradients
from ..architectures import check_own_class
from ..sentence_encoder import SentenceEncoder
from ..trainer import EncoderTrainer, Evaluator
from .char_ngrams import CharNgramEmbeddings
from .objective import TABLE, DistillationObjective, DistillationTexts
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
        ObjectiveSettings(**{item.name: getattr(self, item.name) for item in fields(ObjectiveSettings)}).check()
        super().__post_init__()


class DistillationTrainer(EncoderTrainer):
    """Trains an encoder to have the vectors, or the cosines, of its teachers.

    Each step runs the model with the rows of its own batch alone (:mod:`.objective`), so any encoder with a table
    `embeddings` trains as fast with a large vocabulary as with a small one; `RowAdam` changes those rows, and
    everything else as Adam does.

    The model is scored before training and after every epoch; the best weights are in the model when :meth:`train`
    returns, those of the last step without an evaluator. With letters the model then has the folded table. A run that
    was killed and is continued with `train(resume_from_checkpoint=...)` ends with the same weights.

    Args:
        model: An encoder, also of a class of the user (see :mod:`..architectures`), in one process.
        letters: The n-grams of the tokens, if words shall see their letters; None after training.
        report: Called with a line of text at every score.
    """

    args: Any
    objective: DistillationObjective

    def __init__(
        self,
        model: PreTrainedModel,
        args: DistillationTrainingArguments,
        train_dataset: DistillationTexts,
        processing_class: PreTrainedTokenizerBase,
        evaluator: Evaluator | None = None,
        *,
        letters: CharNgramEmbeddings | None = None,
        callbacks: list[TrainerCallback] | None = None,
        report: Callable[[str], None] | None = None,
    ) -> None:
        check_own_class(model)
        if args.world_size > 1:
            raise UsageError("a distillation runs in one process", remedy="start one process")
        self.letters = letters
        super().__init__(
            model,
            args,
            None,
            processing_class,
            evaluator=evaluator,
            callbacks=callbacks,
            report=report,
            objective=DistillationObjective(model, args, train_dataset, letters),
        )
        if args.names_optimizer:
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
        if self.objective.projection is not None:
            others.append(self.objective.projection)
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
        """Yield the encoder as it is now, with a folded table."""
        embeddings = self.model.get_parameter(TABLE)
        own = embeddings.data
        if self.letters is not None:
            embeddings.data = self.letters.folded(own)
        try:
            yield self.encoder
        finally:
            embeddings.data = own

    def train(self, resume_from_checkpoint: str | bool | None = None, **kwargs: Any) -> Any:
        """Train; the model is scored first unless a checkpoint, which holds that score already, is continued.

        With no epochs to train, scoring is all.
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
        # The weights of a checkpoint are those of the finished encoder.
        self.letters = None

"""Trains a student on what its teachers say, on the Trainer of transformers and so on Accelerate."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from transformers import PreTrainedModel, PreTrainedTokenizerBase, TrainerCallback

from ...errors import UsageError
from ...training.batches import EpochBatches, Item
from ...training.epoch_trainer import EpochTrainingArguments
from ...training.row_adam import RowAdam
from ...training.sparse_gradients import DenseGradients
from ..dev_scores import Evaluator
from ..objective import Objective
from ..sentence_encoder import SentenceEncoder
from ..trainer import EncoderTrainer
from .letters import Letters
from .local_table import TABLE, DistillationTexts, TextCollator, call_with_table, local_table
from .objectives import DistillationObjective, initial_projection
from .settings import ObjectiveSettings

_TABLE_FILE = "unfolded_table.safetensors"
_TARGETS_LOOKED_AT = 1 << 14


@dataclass
class DistillationTrainingArguments(ObjectiveSettings, EpochTrainingArguments):
    """`TrainingArguments` with the settings of the objectives.

    The learning rate falls to zero in a straight line, and gradients are not clipped.
    """

    per_device_train_batch_size: int = field(default=1024, metadata={"help": "texts in a batch"})
    learning_rate: float = field(default=1e-2, metadata={"help": "learning rate of tables of vectors"})
    num_train_epochs: float = field(default=6.0, metadata={"help": "passes over the texts"})
    lr_scheduler_type: Any = field(default="linear", metadata={"help": "schedule of the learning rates"})
    # With 0.999 the first steps of a rare row are three times as long: its moments start from nothing.
    adam_beta2: float = field(default=0.99, metadata={"help": "decay of the second moment"})
    save_total_limit: int | None = field(default=2, metadata={"help": "checkpoints kept: the best and the last one"})

    def __post_init__(self) -> None:
        ObjectiveSettings(**{item.name: getattr(self, item.name) for item in fields(ObjectiveSettings)}).check()
        super().__post_init__()


class TextObjective(Objective):
    """What teachers say of texts, each batch computed with the rows of its own tokens alone."""

    def __init__(
        self, model: PreTrainedModel, collator: TextCollator, batches: EpochBatches, module: nn.Module
    ) -> None:
        super().__init__()
        self.collator, self.batches = collator, batches
        self.module: nn.Module = module
        self.letters = collator.letters
        self._table = [model.get_parameter(TABLE)]  # which is not a part of this

    def collate(self, items: Sequence[Item]) -> dict[str, Any]:
        """Makes a batch from the epoch and the number of each text."""
        return self.collator(items)

    def compute(self, trainer: Any, model: nn.Module, inputs: dict[str, Any]) -> tuple[Tensor, Tensor]:
        """Computes the loss of a batch of :class:`~.local_table.TextCollator`, a mean over its texts."""
        encoder = trainer.accelerator.unwrap_model(model)
        table = local_table(encoder.get_parameter(TABLE), inputs, self.letters)
        vectors = call_with_table(model, encoder, table, inputs, **trainer.forward_options)
        return self.module(vectors, inputs["targets"]), vectors

    def after_update(self) -> None:
        """Keeps the projection orthonormal."""
        if isinstance(self.module, DistillationObjective):
            self.module.orthonormalise()

    def save(self, folder: Path) -> None:
        """Writes the weights of the objective and of letters, with which the table of the checkpoint is folded."""
        super().save(folder)
        if self.letters is not None:
            save_file({TABLE: self._table[0].detach().contiguous()}, folder / _TABLE_FILE)

    def load(self, folder: Path) -> None:
        """Reads them."""
        super().load(folder)
        if self.letters is not None:
            with torch.no_grad():
                self._table[0].copy_(load_file(folder / _TABLE_FILE)[TABLE])


class DistillationTrainer(EncoderTrainer):
    """Trains an encoder to have the vectors, or the cosines, of its teachers.

    Each step runs the model with the rows of its own batch alone (:mod:`.local_table`), so any encoder with a table
    `embeddings` trains as fast with a large vocabulary as with a small one; `RowAdam` changes those rows, and
    everything else as Adam does.

    The model is scored before training and after every epoch; the best weights are in the model when :meth:`train`
    returns, those of the last step without an evaluator. With letters the model then has the folded table. A run that
    was killed and is continued with `train(resume_from_checkpoint=...)` ends with the same weights.

    Args:
        model: An encoder, also of a class of the user (see :mod:`..kinds`), in one process.
        args: The settings.
        train_dataset: The texts and their targets.
        processing_class: The tokenizer of the model.
        objective: A module of (students, targets); None for a :class:`~.objectives.DistillationObjective` of the
            settings, with a projection where the sizes differ, where components have a rank (`matryoshka`), or where
            the model cannot turn its vectors as it likes.
        evaluator: Called with a :class:`~..sentence_encoder.SentenceEncoder`; returns scores by name, or one number.
        letters: The n-grams of the tokens, if words shall see their letters.
        callbacks: Further callbacks.
        report: Called with a line of text at every score.
    """

    args: Any

    def __init__(
        self,
        model: PreTrainedModel,
        args: DistillationTrainingArguments,
        train_dataset: DistillationTexts,
        processing_class: PreTrainedTokenizerBase,
        objective: nn.Module | None = None,
        evaluator: Evaluator | None = None,
        *,
        letters: Letters | None = None,
        callbacks: list[TrainerCallback] | None = None,
        report: Callable[[str], None] | None = None,
    ) -> None:
        if args.world_size > 1:
            raise UsageError("a distillation runs in one process", remedy="start one process")
        self.letters = letters
        collator = TextCollator(train_dataset, vocabulary_size=len(model.get_parameter(TABLE)), letters=letters)
        batches = EpochBatches(len(train_dataset), args.per_device_train_batch_size, args.seed)
        self._is_folded = False
        module = _objective(model, args, train_dataset) if objective is None else objective
        super().__init__(
            model,
            args,
            None,
            processing_class,
            evaluator=evaluator,
            callbacks=callbacks,
            report=report,
            objective=TextObjective(model, collator, batches, module),
        )
        if letters is not None:
            letters.to(self.args.device)
        if args.names_optimizer:
            self.add_callback(DenseGradients())

    def create_optimizer(self, model: nn.Module | None = None) -> torch.optim.Optimizer:
        """Makes Adam, over rows in the tables, or the optimizer that the arguments name.

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
        others += self.objective.get_submodule("module").parameters()
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
        """Yields the encoder as it is now, with a folded table."""
        if self.letters is None or self._is_folded:
            yield SentenceEncoder(self.model, self.tokenizer)
            return
        embeddings = self.model.get_parameter(TABLE)
        own = embeddings.data
        embeddings.data = self.letters.folded(own)
        try:
            yield SentenceEncoder(self.model, self.tokenizer)
        finally:
            embeddings.data = own

    def train(self, resume_from_checkpoint: str | bool | None = None, **kwargs: Any) -> Any:
        """Trains; the model is scored first unless a checkpoint, which holds that score already, is continued.

        With no epochs to train, scoring is all.
        """
        self._is_folded = False
        try:
            return super().train(resume_from_checkpoint=resume_from_checkpoint, **kwargs)
        finally:
            if self.letters is not None and not self._is_folded:
                embeddings = self.model.get_parameter(TABLE)
                embeddings.data = self.letters.folded(embeddings.data)
                self._is_folded = True

    def _save(self, output_dir: str | None = None, state_dict: dict[str, Tensor] | None = None) -> None:
        with self.trained_encoder():
            super()._save(output_dir, dict(self.model.state_dict()))

    def _load_best_model(self) -> None:
        super()._load_best_model()
        # The weights of a checkpoint are those of the finished encoder.
        self._is_folded = True


def _objective(
    model: PreTrainedModel, args: DistillationTrainingArguments, data: DistillationTexts
) -> DistillationObjective:
    size, target_size = model.config.hidden_size, data.targets.dimension
    # The table of an average can be turned as the projection would turn its vectors.
    turns = model.config.model_type == "avg"
    axes = None
    if size != target_size or not turns or args.matryoshka:
        generator = torch.Generator().manual_seed(args.seed)
        numbers = np.random.default_rng(args.seed).permutation(len(data.targets))[:_TARGETS_LOOKED_AT]
        axes = initial_projection(
            data.targets.take(np.sort(numbers)), size, mixed=not turns and not args.matryoshka, generator=generator
        )
    return DistillationObjective(
        size,
        target_size,
        cosine_weight=args.cosine_weight,
        ranking_weight=args.ranking_weight,
        matryoshka=args.matryoshka,
        axes=axes,
    )

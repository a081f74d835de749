"""Trains a student on what its teachers say, on the Trainer of transformers and so on Accelerate."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from transformers import PreTrainedModel, PreTrainedTokenizerBase, TrainerCallback

from ...errors import UsageError
from ...training.batches import EpochBatches
from ...training.row_adam import RowAdam
from ...training.sparse_gradients import DenseGradients
from ..dev_scores import Evaluator
from ..kinds import check_own_class
from ..model_folder import write_checkpoint
from ..padded_batches import forward_options
from ..scored_trainer import OwnGradients, ScoredTrainer
from ..sentence_encoder import SentenceEncoder
from .collator import DistillationTexts, TextCollator
from .letters import Letters
from .local_table import TABLE, call_with_table, local_table
from .objectives import DistillationObjective, initial_projection
from .training_arguments import DistillationTrainingArguments

_BESIDE = "distillation.safetensors"
_TARGETS_LOOKED_AT = 1 << 14


class DistillationTrainer(ScoredTrainer):
    """Trains an encoder to have the vectors, or the cosines, of its teachers.

    Each step runs the model with the rows of its own batch alone (:mod:`.local_table`), so any encoder with a table
    `embeddings` trains as fast with a large vocabulary as with a small one; `RowAdam` changes those rows, and
    everything else as Adam does.

    The model is scored before training and at every mark; the weights of the best mark are in the model when
    :meth:`train` returns, those of the last step without an evaluator. With letters the model then has the folded
    table. Training, its order and all draws depend on the seed alone, and a checkpoint is written at every mark: a run
    that was killed and is continued with `train(resume_from_checkpoint=...)` ends with the same weights.

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

    args: DistillationTrainingArguments

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
        check_own_class(model)
        if args.world_size > 1:
            raise UsageError("a distillation runs in one process", remedy="start one process")
        data = train_dataset
        self.letters = letters
        collate = TextCollator(
            data,
            vocabulary_size=len(model.get_parameter(TABLE)),
            letters=letters,
        )
        size = args.per_device_train_batch_size
        batches = EpochBatches(len(data), size, args.seed)
        self._is_folded = False
        super().__init__(
            model,
            args,
            collate,
            batches,
            processing_class,
            evaluator=evaluator,
            callbacks=callbacks,
            report=report,
        )
        self.objective = _objective(model, args, data) if objective is None else objective
        self.objective.to(args.device)
        self.add_callback(_AfterUpdate(self.objective))
        if letters is not None:
            letters.to(args.device)
            self.add_callback(OwnGradients(letters))
        if args.names_optimizer:
            self.add_callback(DenseGradients())
        self.forward_options = forward_options(model)

    def create_optimizer(self, model: nn.Module | None = None) -> torch.optim.Optimizer:
        """Makes Adam, over rows in the tables, or the optimizer that the arguments name.

        The tables have a learning rate of their own.
        """
        if self.optimizer is None:
            named = dict((model or self.model).named_parameters())
            tables = [item for name, item in named.items() if name.rpartition(".")[2] == TABLE]
            others = [item for name, item in named.items() if name.rpartition(".")[2] != TABLE]
            tables += [] if self.letters is None else list(self.letters.parameters())
            others += list(self.objective.parameters())
            groups = [
                {"params": [item for item in found if item.requires_grad], "lr": rate}
                for found, rate in (
                    (tables, self.args.learning_rate),
                    (others, self.args.network_learning_rate),
                )
            ]
            groups = [group for group in groups if group["params"]]
            if self.args.names_optimizer:
                kind, options = self.get_optimizer_cls_and_kwargs(self.args, self.model)
                self.optimizer = kind(
                    [{**group, "weight_decay": self.args.weight_decay} for group in groups], **options
                )
            else:
                betas = (self.args.adam_beta1, self.args.adam_beta2)
                self.optimizer = RowAdam(groups, betas=betas, eps=self.args.adam_epsilon)
        return self.optimizer

    def compute_loss(
        self,
        model: nn.Module,
        inputs: dict[str, Any],
        return_outputs: bool = False,
        num_items_in_batch: Tensor | int | None = None,
    ) -> Any:
        """Computes the loss of one batch.

        Args:
            model: The encoder.
            inputs: A batch of :class:`~.collator.TextCollator`.
            return_outputs: Also return the sentence embeddings (texts, dim).
            num_items_in_batch: Unused: the loss is a mean over the texts of a batch.
        """
        encoder = self.accelerator.unwrap_model(model)
        table = local_table(encoder.get_parameter(TABLE), inputs, self.letters)
        vectors = call_with_table(model, encoder, table, inputs, **self.forward_options)
        loss = self.objective(vectors, inputs["targets"])
        return (loss, vectors) if return_outputs else loss

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
        if not self.args.should_save:
            return
        folder = Path(output_dir or self.args.output_dir)
        with self.trained_encoder():
            weights = dict(self.model.state_dict())
            if not write_checkpoint(folder, self.model, nn.Module(), weights):
                described = str(getattr(self.objective, "description", type(self.objective).__name__))
                self._write_saved(folder, weights, "texts", loss=described, margin=None, searches_negatives=False)
                return
        beside = {f"objective.{name}": value for name, value in self.objective.state_dict().items()}
        if self.letters is not None:
            beside |= {f"letters.{name}": value for name, value in self.letters.state_dict().items()}
            beside["embeddings"] = self.model.get_parameter(TABLE).detach()
        if beside:
            save_file({name: value.contiguous() for name, value in beside.items()}, folder / _BESIDE)

    def _load_from_checkpoint(self, resume_from_checkpoint: str, model: nn.Module | None = None) -> None:
        super()._load_from_checkpoint(resume_from_checkpoint, model)
        path = Path(resume_from_checkpoint) / _BESIDE
        beside = load_file(path) if path.is_file() else {}
        self.objective.load_state_dict(_below("objective.", beside))
        if self.letters is not None:
            self.letters.load_state_dict(_below("letters.", beside))
            with torch.no_grad():
                self.model.get_parameter(TABLE).copy_(beside["embeddings"])

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
    if args.cosine_weight > 0 and (size != target_size or not turns or args.matryoshka):
        generator = torch.Generator().manual_seed(args.seed)
        numbers = np.random.default_rng(args.seed).permutation(len(data))[:_TARGETS_LOOKED_AT]
        axes = initial_projection(
            data.targets.take(np.sort(numbers)), size, mixed=not turns and not args.matryoshka, generator=generator
        )
    return DistillationObjective(
        size,
        target_size,
        cosine_weight=args.cosine_weight,
        pairwise_weight=args.pairwise_weight,
        matryoshka=args.matryoshka,
        axes=axes,
    )


def _below(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}


class _AfterUpdate(OwnGradients):
    """Forgets the gradients of the objective and keeps its projection orthonormal after each update."""

    def on_optimizer_step(self, *args: Any, **kwargs: Any) -> None:
        super().on_optimizer_step(*args, **kwargs)
        if isinstance(self.module, DistillationObjective):
            self.module.orthonormalise()

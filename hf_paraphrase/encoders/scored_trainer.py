"""What the trainers of encoders have in common: batches by epoch, scores at checkpoints, the best weights kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader
from transformers import (
    EvalPrediction,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    TrainerCallback,
)

from ..training.batches import EpochBatches, PairItems
from ..training.callbacks import EpochMarks, keep_standard_output
from ..training.devices import take_one_gpu
from ..training.epoch_trainer import training_batches
from ..training.sparse_gradients import SparseGradientTrainer
from .dev_scores import CHOOSES, DEV_SCORE, Evaluator, chosen_score, scores_of
from .model_folder import write_model_files, write_saved_card
from .sentence_encoder import SentenceEncoder


class ScoredTrainer(SparseGradientTrainer):
    """A Trainer of an encoder that is scored before the first step and at every checkpoint.

    The weights of the best one are in the model when :meth:`train` returns. The untrained state is scored but cannot
    win. Without a score the last state is kept. The arguments may ask for other evaluations and checkpoints.

    Args:
        model: The encoder.
        args: The settings, with `evaluations_per_epoch`.
        collate: Makes a batch of (epoch, number) of items.
        batches: Which items are in which batch.
        tokenizer: The tokenizer of the encoder.
        evaluator: Called with a :class:`~.sentence_encoder.SentenceEncoder`; returns scores by name, or one number.
        compute_metrics: Whether there is something else that scores; see :meth:`_measured`.
        callbacks: Further callbacks.
        optimizers: An optimizer and a schedule of the user.
        report: Called with a line of text at every score.

    Attributes:
        is_scored: Whether the model is scored while it is trained.
        updates_of_epoch: Updates of the model in an epoch.
    """

    loss_is_scaled_for_ga = False
    optimizer: Any
    control: Any
    eval_dataset: Any
    batches: EpochBatches

    def __init__(
        self,
        model: PreTrainedModel,
        args: Any,
        collate: Callable[..., dict[str, Any]],
        batches: EpochBatches,
        tokenizer: PreTrainedTokenizerBase,
        *,
        evaluator: Evaluator | None,
        compute_metrics: Callable[[EvalPrediction], Mapping[str, float]] | None = None,
        callbacks: list[TrainerCallback] | None = None,
        optimizers: tuple[torch.optim.Optimizer | None, Any] = (None, None),
        report: Callable[[str], None] | None = None,
    ) -> None:
        self.batches = batches
        self.tokenizer = tokenizer
        self.evaluator = evaluator
        self.report = report
        if args.dataloader_drop_last:
            batches.leave_out_last()
        self._chosen_by_default = args.metric_for_best_model in (None, CHOOSES)
        has_dev = evaluator is not None or compute_metrics is not None
        self.is_scored: bool = args.settle_evaluation(has_dev, CHOOSES)
        self.updates_of_epoch = -(-batches.joint_batches // args.gradient_accumulation_steps)
        take_one_gpu(args)
        super().__init__(
            model=model,
            args=args,
            data_collator=collate,
            train_dataset=PairItems(batches.size),
            # The Trainer requires a set before it calls `evaluate`, which scores by itself.
            eval_dataset=PairItems(0) if has_dev else None,
            compute_metrics=compute_metrics,
            callbacks=callbacks,
            optimizers=optimizers,
        )
        self.eval_dataset = None
        keep_standard_output(self)
        self.add_callback(EpochMarks(batches.set_epoch, self.updates_of_epoch, args.evaluations_per_epoch))

    def get_train_dataloader(self) -> DataLoader[Any]:
        """Returns the batches of this process; see :class:`~..training.batches.EpochBatches`."""
        return training_batches(self, self.train_dataset, self.batches, workers=True)

    @contextmanager
    def trained_encoder(self) -> Iterator[SentenceEncoder]:
        """Yields the encoder as it is now."""
        yield SentenceEncoder(self.model, self.tokenizer)

    def evaluate(
        self, eval_dataset: Any = None, ignore_keys: list[str] | None = None, metric_key_prefix: str = "eval"
    ) -> dict[str, float]:
        """Scores the model and reports the result; nothing without an evaluator or `compute_metrics`."""
        training = self.model.training
        with self.trained_encoder() as encoder:
            scores = self._measured(encoder, eval_dataset)
        if not scores:
            return {}
        self.model.train(training)
        if self.args.metric_for_best_model is not None:
            wanted = self.args.metric_for_best_model
            self.args.metric_for_best_model = chosen_score(scores, wanted, self._chosen_by_default)
        metrics = {f"{metric_key_prefix}_{name}": value for name, value in scores.items()}
        self.log(metrics)
        self.control = self.callback_handler.on_evaluate(self.args, self.state, self.control, metrics)
        if self.report is not None and self.is_world_process_zero():
            epoch = self.state.epoch or 0.0
            what = f"epoch {epoch:g}" if self.state.global_step else "untrained"
            self.report(f"{what}: dev score {scores[self._chosen]:.2f}")
        return metrics

    def _measured(self, encoder: SentenceEncoder, eval_dataset: Any) -> dict[str, float]:
        """Returns the scores of an encoder by their names."""
        return {} if self.evaluator is None else scores_of(self.evaluator, encoder)

    @property
    def _chosen(self) -> str:
        """The name of the score that chooses the weights."""
        return str(self.args.metric_for_best_model or CHOOSES).removeprefix("eval_")

    def scores(self) -> list[dict[str, float]]:
        """Lists the scores in the order they were taken: `epoch` (0 = untrained), `step` and the scores by name."""
        taken: dict[int, dict[str, float]] = {}
        for entry in self.state.log_history:
            if f"eval_{self._chosen}" in entry:
                names = {name.removeprefix("eval_"): value for name, value in entry.items() if name != "step"}
                taken[int(entry["step"])] = {"step": int(entry["step"]), **names, "epoch": entry.get("epoch") or 0.0}
        return [taken[step] for step in sorted(taken)]

    def best_scores(self) -> dict[str, float] | None:
        """Returns the entry of :meth:`scores` whose weights are kept; None if nothing was scored after a step."""
        trained = [entry for entry in self.scores() if entry["step"] > 0]
        choose = min if self.args.greater_is_better is False else max
        return choose(trained, key=lambda entry: entry[self._chosen]) if trained else None

    def train(self, resume_from_checkpoint: str | bool | None = None, **kwargs: Any) -> Any:
        """Trains; the model is scored first unless a checkpoint, which holds that score already, is continued.

        With no epochs to train, scoring is all.
        """
        if self.args.num_train_epochs == 0:
            return self.evaluate() if self.is_scored else {}
        self.args.eval_on_start = self.is_scored and not resume_from_checkpoint
        return super().train(resume_from_checkpoint=resume_from_checkpoint, **kwargs)

    def _write_saved(self, folder: Path, weights: dict[str, Tensor] | None, trained_on: str, **card: Any) -> None:
        """Writes a whole model folder, with a card of what the trainer knows."""
        write_model_files(folder, cast(PreTrainedModel, self.model), self.tokenizer, weights)
        args, state = self.args, self.state
        known = {
            trained_on: self.batches.size,
            "updates": state.global_step,
            "epochs": state.epoch or 0.0,
            "dev_scores": self.scores(),
        }
        name = type(self).__name__
        card = {
            "trainer": name,
            "trained_on": trained_on,
            "examples": self.batches.size,
            "learning_rate": args.learning_rate,
            "batch_size": args.per_device_train_batch_size,
            "seed": args.seed,
            "scores": [{**entry, DEV_SCORE: entry[self._chosen]} for entry in self.scores()],
            **known,
            **card,
        }
        # The path of the run is private, and `push_to_hub` of the Trainer sends files as they are.
        settings = {key: value for key, value in args.to_dict().items() if key != "output_dir"}
        command = f"{name}.save_model (from Python)"
        model = cast(PreTrainedModel, self.model)
        write_saved_card(folder, model, command=command, settings=settings, results=known, card=card)


class OwnGradients(TrainerCallback):
    """Forgets the gradients of weights beside the model after each update, as the Trainer does with the model's."""

    def __init__(self, module: nn.Module) -> None:
        self.module = module

    def on_optimizer_step(self, *args: Any, **kwargs: Any) -> None:
        """Forgets them."""
        self.module.zero_grad()

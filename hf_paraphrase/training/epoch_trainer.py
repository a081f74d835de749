"""The base class of trainers: arguments, batches by epoch, their loader, Adam, and dev scores."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader
from transformers import PreTrainedModel, Trainer, TrainingArguments
from transformers.trainer_utils import IntervalStrategy, SaveStrategy

from .batches import EpochBatches, PairItems
from .callbacks import EpochOfBatches, keep_standard_output
from .devices import take_one_gpu
from .processes import process_index, refuse_sharding


@dataclass
class EpochTrainingArguments(TrainingArguments):
    """`TrainingArguments` with other defaults: a dev score and a checkpoint at the end of every epoch, plain Adam.

    All fields mean what they mean in transformers. Two defaults depend on others:

    * The defaults of `optim` and `weight_decay` select the trainer's own Adam, which may update only the rows of a
      batch. Other values select the named optimizer, with dense gradients.
    * `load_best_model_at_end=None` loads the best weights if there is a dev set and every checkpoint has a score.
    """

    lr_scheduler_type: Any = field(default="constant", metadata={"help": "schedule of the learning rate"})
    max_grad_norm: float = field(default=0.0, metadata={"help": "clip the gradient's norm to this; 0 does not clip"})
    logging_strategy: Any = field(default="epoch", metadata={"help": "when the loss is logged"})
    eval_strategy: Any = field(default="epoch", metadata={"help": "when the dev set is scored"})
    save_strategy: Any = field(default="epoch", metadata={"help": "when a checkpoint is written"})
    save_total_limit: int | None = field(
        default=1, metadata={"help": "checkpoints to keep besides the best checkpoint"}
    )
    load_best_model_at_end: bool | None = field(
        default=None,
        metadata={"help": "load the best weights at the end; None: if every checkpoint has a score"},
    )
    metric_for_best_model: str | None = field(
        default=None, metadata={"help": "the score that chooses the best weights; None for the trainer's own"}
    )
    greater_is_better: bool | None = field(
        default=None, metadata={"help": "whether a higher score is better; None for yes unless it is a loss"}
    )

    def __post_init__(self) -> None:
        refuse_sharding(self)
        if self.label_smoothing_factor:
            raise ValueError("label_smoothing_factor: the trainer computes its own loss; override its `compute_loss`")
        metric = self.metric_for_best_model
        super().__post_init__()
        if metric is None:
            # The default is the score of the trainer, and not the loss; see `settle_evaluation`.
            self.metric_for_best_model = self.greater_is_better = None

    @property
    def names_optimizer(self) -> bool:
        """Whether the arguments select an optimizer other than the trainer's own Adam."""
        return bool(self.weight_decay or self.optim_args) or self.optim not in ("adamw_torch", "adamw_torch_fused")

    def settle_evaluation(self, has_dev: bool, metric: str) -> bool:
        """Fill in the arguments that depend on a dev set, and return whether training scores it.

        `metric` chooses the best weights unless the arguments name a metric.
        """
        if not has_dev and self.eval_strategy == IntervalStrategy.EPOCH and not self.load_best_model_at_end:
            self.eval_strategy = IntervalStrategy.NO
        is_scored = has_dev and self.eval_strategy != IntervalStrategy.NO
        if self.load_best_model_at_end is None:
            in_step = self.eval_strategy == IntervalStrategy.EPOCH or self.save_steps % (self.eval_steps or 1) == 0
            together = self.save_strategy == self.eval_strategy and in_step
            self.load_best_model_at_end = is_scored and (together or self.save_strategy == SaveStrategy.BEST)
        if has_dev and self.metric_for_best_model is None:
            self.metric_for_best_model = metric
        if has_dev and self.greater_is_better is None:
            self.greater_is_better = not str(self.metric_for_best_model).endswith("loss")
        return is_scored


def training_batches(trainer: Any, *, workers: bool = False) -> DataLoader[Any]:
    """Make the data loader of a trainer with `batches`, for its device and its process.

    With `workers`, `dataloader_num_workers` processes make the batches; they are not told the epoch.
    """
    args = trainer.args
    loader: DataLoader[Any] = DataLoader(
        trainer.train_dataset,
        batch_sampler=trainer.batches,
        collate_fn=trainer.data_collator,
        num_workers=args.dataloader_num_workers if workers else 0,
        persistent_workers=workers and args.dataloader_persistent_workers,
        pin_memory=args.dataloader_pin_memory and args.device.type == "cuda",
    )
    trainer.accelerator.dataloader_config.non_blocking = True
    trainer.accelerator.even_batches = False
    prepared: DataLoader[Any] = trainer.accelerator.prepare(loader)
    return prepared


class EpochTrainer(Trainer):
    """A Trainer whose batches, orders and draws depend on the seed and the epoch alone.

    A run resumed from a checkpoint therefore ends with the weights of an uninterrupted run. A subclass overrides
    `evaluate` to score the dev set, and passes the scores to :meth:`report_scores`.

    `collate` makes a batch from pairs of epoch and row. `dev_size` is the size of the dev set. `report` receives a
    line of text after each evaluation.
    """

    criterion: str
    """The name of the score of every evaluation; it chooses the weights by default."""
    uses_workers: ClassVar[bool] = False
    """Whether `dataloader_num_workers` processes may make the batches; they are not told the epoch."""
    forward_options: dict[str, Any] = {}  # noqa: RUF012
    loss_is_scaled_for_ga = False
    optimizer: Any
    control: Any
    last_loss: Tensor | None = None
    """The loss of the last batch."""

    def __init__(
        self,
        model: PreTrainedModel,
        args: EpochTrainingArguments,
        batches: EpochBatches,
        collate: Callable[..., dict[str, Tensor]],
        *,
        dev_size: int | None,
        report: Callable[[str], None] | None = None,
        **options: Any,
    ) -> None:
        self.report = report
        self.is_scored = args.settle_evaluation(dev_size is not None, f"eval_{self.criterion}")
        take_one_gpu(args)
        super().__init__(
            model=model,
            args=args,
            data_collator=collate,
            # The Trainer calls `evaluate` only with a data set; `evaluate` reads the dev set itself.
            eval_dataset=None if dev_size is None else PairItems(dev_size),
            **options,
        )
        self.set_batches(batches, collate)
        keep_standard_output(self)
        self.add_callback(EpochOfBatches(self.begin_epoch, lambda: self.updates_of_epoch))

    def set_batches(self, batches: EpochBatches, collate: Callable[..., dict[str, Tensor]]) -> None:
        """Train on these batches from now on."""
        if self.args.dataloader_drop_last:
            batches.leave_out_last()
        self.batches, self.data_collator, self.train_dataset = batches, collate, PairItems(batches.size)

    def get_train_dataloader(self) -> DataLoader[Any]:
        """Return the batches of this process; see :class:`~.batches.EpochBatches`."""
        return training_batches(self, workers=self.uses_workers)

    def create_optimizer(self, model: nn.Module | None = None) -> torch.optim.Optimizer:
        """Make Adam over all trained parameters, or the optimizer that the arguments name."""
        if self.optimizer is None and not self.args.names_optimizer:
            parameters = [parameter for parameter in (model or self.model).parameters() if parameter.requires_grad]
            self.optimizer = self.adam(
                parameters,
                lr=self.args.learning_rate,
                betas=(self.args.adam_beta1, self.args.adam_beta2),
                eps=self.args.adam_epsilon,
            )
        return super().create_optimizer(model)

    @property
    def adam(self) -> Callable[..., torch.optim.Optimizer]:
        """The class of Adam."""
        return torch.optim.Adam

    @property
    def updates_of_epoch(self) -> int:
        """The number of updates per epoch."""
        return -(-self.batches.joint_batches // self.args.gradient_accumulation_steps)

    def get_batch_samples(
        self, epoch_iterator: Iterator[dict[str, Any]], num_batches: int, device: torch.device
    ) -> tuple[list[dict[str, Any]], Tensor | int | None]:
        """Read the batches of one update, and add the `position` of each: the epoch, and the index in the epoch."""
        samples, items = super().get_batch_samples(epoch_iterator, num_batches, device)
        epoch, update = divmod(self.state.global_step, self.updates_of_epoch)
        for index, sample in enumerate(samples, update * self.args.gradient_accumulation_steps):
            sample["position"] = (epoch, index)
        return samples, items

    def training_step(self, *args: Any, **kwargs: Any) -> Tensor:
        """Compute loss and gradients of a batch; the progress line shows the loss."""
        self.last_loss = super().training_step(*args, **kwargs)
        return self.last_loss

    def compute_loss(
        self,
        model: nn.Module,
        inputs: dict[str, Any],
        return_outputs: bool = False,
        num_items_in_batch: Tensor | int | None = None,
    ) -> Any:
        """Compute the mean loss of a batch, with the weight of this process in the joint batch."""
        position = inputs.get("position")
        inputs = {name: value for name, value in inputs.items() if name != "position"}
        output = model(**inputs, **self.forward_options)
        loss = self.loss_of(output, model, inputs)
        if position is not None and self.batches.num_processes > 1:
            loss = loss * self.batches.weight(position[1], process_index())
        return (loss, output) if return_outputs else loss

    def loss_of(self, output: Any, model: nn.Module, inputs: dict[str, Any]) -> Tensor:
        """Return the loss of a batch from the model's output; subclasses add their penalties."""
        loss: Tensor = output.loss
        return loss

    def begin_epoch(self, epoch: int) -> None:
        """Set the order of an epoch, counted from 0."""
        self.batches.set_epoch(epoch)

    def report_scores(self, metrics: dict[str, float], line: str) -> dict[str, float]:
        """Log dev scores, which are named `eval_…`, and report them to the user in a line; return the scores."""
        self.log(metrics)
        self.control = self.callback_handler.on_evaluate(self.args, self.state, self.control, metrics)
        if self.report is not None and self.is_world_process_zero():
            self.report(line)
        return metrics

    def scores(self) -> list[dict[str, float]]:
        """List for every evaluation `epoch`, `step` and the dev scores."""
        entries = [entry for entry in self.state.log_history if f"eval_{self.criterion}" in entry]
        return [{name.removeprefix("eval_"): value for name, value in entry.items()} for entry in entries]

    def best_scores(self) -> dict[str, float] | None:
        """Return the entry of :meth:`scores` after a step whose weights are kept, the earliest of equals, or None."""
        chosen = (self.args.metric_for_best_model or self.criterion).removeprefix("eval_")
        best = min if self.args.greater_is_better is False else max
        trained = [entry for entry in self.scores() if entry["step"] > 0]
        return best(trained, key=lambda entry: entry[chosen], default=None)

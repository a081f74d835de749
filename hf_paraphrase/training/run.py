"""The template of every training run: output, checkpoints, resuming, processes, logs and records.

A training command has settings derived from :class:`TrainingRunSettings`, and a recipe. The recipe opens a
:class:`TrainingRun`. Unless the run `is_finished`, it checks the inputs, makes a Trainer with `run.arguments(…)` and
passes it to `run.train`. If the run `writes`, it saves the model to `run.folder` and calls `run.write`.

The output is an :class:`~hf_paraphrase.artefacts.artefact.Artefact`. A killed run continues with `resume` and ends
with the same result. If several processes train, the first writes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from ..artefacts.artefact import Artefact, Card, fingerprint_of_job
from ..artefacts.card_metadata import Measurement
from ..artefacts.cards import check_license
from ..artefacts.files import quiet_transformers
from ..artefacts.weights import check_finite
from ..errors import HfParaphraseError, UsageError
from ..messages import is_main_process, log, process_count
from ..settings import seed_setting, setting
from .devices import AcceleratorSettings
from .processes import check_in_common, refuse_sharding, wait_before_training, wait_for_all

if TYPE_CHECKING:
    from transformers import Trainer, TrainingArguments

    A = TypeVar("A", bound=TrainingArguments)

T = TypeVar("T")
CHECKPOINTS = "checkpoints"
_OF_TRAINERS = {
    "num_train_epochs": "epochs",
    "per_device_train_batch_size": "batch_size",
    "learning_rate": "learning_rate",
}
"""The settings of a run for arguments of a Trainer."""
LOGS = "logs"
"""The folder of log files in the output."""


@dataclass(kw_only=True)
class TrainingRunSettings(AcceleratorSettings):
    """The settings of every training run."""

    output: str = setting("output model folder; it appears only when complete")
    seed: int = seed_setting("random seed of initial weights, samples, the order of the examples, and dropout")
    license: str | None = setting(
        "the licence of the model for the card, as the Hub spells it, e.g. apache-2.0 [default: none]", None
    )
    overwrite: bool = setting("replace an existing output folder (once the new one is complete)", False)
    resume: bool = setting("continue the incomplete run for this output, with the same result", False)
    report_to: str = setting(
        "where the Trainer logs to, e.g. wandb, or tensorboard (files in the folder logs of the output); none "
        "disables logging",
        "none",
    )

    def check(self) -> None:
        """Refuse wrong values, a licence that the Hub does not list, and a missing integration."""
        super().check()
        check_license(self.license)
        if self.report_to == "none":
            return
        from transformers.integrations import get_available_reporting_integrations

        available = ["none", *get_available_reporting_integrations()]
        if self.report_to not in available:
            remedy = f"pip install it, or one of {', '.join(available)}"
            raise UsageError(f"--report-to {self.report_to} is not installed", remedy=remedy)


class TrainingRun:
    """A run of a training command, from the check of its output to the finished folder.

    Args:
        of_the_result: Settings of the output only, which may change when a run is resumed.

    Attributes:
        folder: The folder that becomes the output, or the output of a finished run.
        checkpoints: The folder of the checkpoints.
        is_finished: Whether the output exists already.
    """

    def __init__(
        self, settings: TrainingRunSettings, *, command: str, inputs: Sequence[str], of_the_result: Sequence[str] = ()
    ) -> None:
        self.settings = settings
        self.is_finished = False
        self.artefact = Artefact(
            settings.output,
            command=command,
            settings=settings,
            inputs=inputs,
            # Processes share the batches of an epoch, so their number determines the result.
            job={"processes": process_count()} if process_count() > 1 else {},
            free=of_the_result,
        )
        self.folder = self.checkpoints = self.artefact.target
        self._stack = ExitStack()
        self._log: list[dict[str, Any]] = []

    def __enter__(self) -> TrainingRun:
        """Lock the output and check whether it is finished."""
        refuse_sharding()
        wait_before_training(on_cpu=self.settings.is_on_cpu)
        self.is_finished, self.folder, self.checkpoints = run_on_main_process(self._begin)
        return self

    def _begin(self) -> tuple[bool, Path, Path]:
        artefact = self._stack.enter_context(self.artefact)
        if artefact.finished:
            return True, artefact.target, artefact.target / CHECKPOINTS
        return False, artefact.staging, artefact.work / CHECKPOINTS

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Release the lock; after an error the checkpoints stay for a resume."""
        self._stack.__exit__(kind, error, traceback)
        if error is None:
            # The output must have its final name before other processes open it.
            wait_for_all()

    @property
    def writes(self) -> bool:
        """Whether this process writes the output."""
        return is_main_process()

    def arguments(self, arguments_class: type[A], **settings: Any) -> A:
        """Make the arguments of a Trainer of this run; `settings` override the settings of the run."""
        own = {theirs: getattr(self.settings, ours, None) for theirs, ours in _OF_TRAINERS.items()}
        common = {
            "output_dir": str(self.checkpoints),
            "seed": self.settings.seed,
            "report_to": self.settings.report_to,
            "run_name": self.artefact.target.name,
            # Checking the loss of every step would wait for the GPU; checkpoints are checked instead.
            "logging_nan_inf_filter": False,
            **{name: value for name, value in own.items() if value is not None},
        }
        return self.settings.trainer_arguments(arguments_class, **{**common, **settings})

    def begin(self) -> Path:
        """Record the job before the first checkpoint, and return the folder of checkpoints."""
        if is_main_process():
            self.artefact.checkpoint(CHECKPOINTS).mkdir(parents=True, exist_ok=True)
        return self.checkpoints

    def train(self, trainer: Trainer) -> None:
        """Train from the newest complete checkpoint of the Trainer; a run may have several Trainers."""
        from .callbacks import AtCheckpoints, keep_logs, last_checkpoint, log_of_steps

        folder = Path(trainer.args.output_dir)
        keep_logs(trainer, self.folder / LOGS / folder.relative_to(self.checkpoints))
        check_in_common(fingerprint_of_job(self.settings.record()), self.folder)
        self.begin()
        if is_main_process():
            folder.mkdir(parents=True, exist_ok=True)
            last_checkpoint(folder)
        # The first process has removed incomplete checkpoints; all processes now find the same one.
        wait_for_all()
        checkpoint = last_checkpoint(folder)
        wait_for_all()
        if self.settings.resume:
            step = checkpoint.name.rpartition("-")[2] if checkpoint else None
            log(f"resuming after step {step}" if checkpoint else "nothing to resume yet")
        trainer.add_callback(AtCheckpoints)
        with quiet_transformers(warns=True):
            trainer.train(resume_from_checkpoint=None if checkpoint is None else str(checkpoint))
        self._log += log_of_steps(trainer.state.log_history)
        # No checkpoint is removed before all processes have loaded the best weights.
        wait_for_all()

    def write(
        self,
        *,
        results: Mapping[str, Any],
        template: str,
        card: Mapping[str, Any] | None = None,
        measurements: Sequence[Measurement] = (),
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        """Finish the output after its weights are saved; do nothing in processes that do not write.

        The model card `template` is filled with settings, results and `card`; `measurements` go into its metadata.
        """
        if not self.writes:
            return
        from safetensors.torch import load_file

        for path in sorted(self.folder.rglob("*.safetensors")):
            if self.checkpoints not in path.parents:
                check_finite(load_file(path))
        settings = self.settings.record() if settings is None else settings
        logged = {"log": self._log} if self._log and "log" not in results else {}
        results = {**results, **logged}
        values = {**settings, **results, "name": Path(self.settings.output).name, **(card or {})}
        self.artefact.finish(
            results=results,
            card=Card(template, values, kind="model_cards", measurements=measurements, report=True),
            settings=settings,
        )


def run_on_main_process(work: Callable[[], T]) -> T:
    """Run a function in the first process; all processes return its result or raise its error."""
    if process_count() == 1:
        return work()
    from accelerate.utils import broadcast_object_list

    outcome: list[Any] = [None]
    if is_main_process():
        try:
            outcome = [work()]
        except HfParaphraseError as error:
            outcome = [error]
    broadcast_object_list(outcome)
    if isinstance(outcome[0], HfParaphraseError):
        raise outcome[0]
    result: T = outcome[0]
    return result

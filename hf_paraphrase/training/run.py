"""The template of every training run: output, checkpoints, resuming, processes, logs and records.

A verb that trains is a settings dataclass that starts from :class:`TrainingRunSettings`, and a recipe: in a
:class:`TrainingRun`, unless it `is_finished`, it makes a Trainer with `run.arguments(…)` and passes it to `run.train`,
before which all is refused that can be. If it `writes`, it saves the model to `run.folder` and calls `run.write`.

The output is an :class:`~hf_paraphrase.artefacts.artefact.Artefact`; a run that was killed continues with `resume` and
ends with the same result; of several processes all train and the first one writes.
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
"""What arguments of a Trainer are called in the settings of runs."""
LOGS = "logs"
"""The folder in the output with the logs of a training that are files."""


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
        """Refuses values that do not fit, a licence that the Hub spells otherwise, and a missing integration."""
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
    """A run of a training verb, from the check of its output to the finished folder; the module says how it is used.

    Args:
        of_the_result: Settings that say what is written, and nothing about the training: they may differ when a run
            is continued.

    Attributes:
        folder: The folder that becomes the output, or the output of a run that is finished.
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
            overwrite=settings.overwrite,
            resume=settings.resume,
            # Processes share the batches of an epoch, so that another number of them is another run.
            job={"processes": process_count()} if process_count() > 1 else {},
            free=of_the_result,
        )
        self.folder = self.checkpoints = self.artefact.target
        self._stack = ExitStack()
        self._log: list[dict[str, Any]] = []

    def __enter__(self) -> TrainingRun:
        """Locks the output and finds out what is left to do."""
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
        """Gives the lock back; after an error the checkpoints stay, to be continued."""
        self._stack.__exit__(kind, error, traceback)
        if error is None:
            # What the other processes open next has its name then.
            wait_for_all()

    @property
    def writes(self) -> bool:
        """Whether this process writes the output."""
        return is_main_process()

    def arguments(self, arguments_class: type[A], **settings: Any) -> A:
        """Makes the arguments of a Trainer of this run; `settings` win over what the settings of the run say."""
        asked = {theirs: getattr(self.settings, ours, None) for theirs, ours in _OF_TRAINERS.items()}
        common = {
            "output_dir": str(self.checkpoints),
            "seed": self.settings.seed,
            "report_to": self.settings.report_to,
            "run_name": self.artefact.target.name,
            # No step asks whether its loss is finite, for which a GPU is waited for: checkpoints are checked.
            "logging_nan_inf_filter": False,
            **{name: value for name, value in asked.items() if value is not None},
        }
        return self.settings.trainer_arguments(arguments_class, **{**common, **settings})

    def begin(self) -> Path:
        """Records the job, before the first checkpoint, and returns their folder; :meth:`train` does so too."""
        if is_main_process():
            self.artefact.checkpoint(CHECKPOINTS).mkdir(parents=True, exist_ok=True)
        return self.checkpoints

    def train(self, trainer: Trainer) -> None:
        """Trains from the newest complete checkpoint in the folder of a Trainer, of which a run may have several."""
        from .callbacks import AtCheckpoints, keep_logs, last_checkpoint, log_of_steps

        folder = Path(trainer.args.output_dir)
        keep_logs(trainer, self.folder / LOGS / folder.relative_to(self.checkpoints))
        check_in_common(fingerprint_of_job(self.settings.record()), self.folder)
        self.begin()
        if is_main_process():
            folder.mkdir(parents=True, exist_ok=True)
            last_checkpoint(folder)
        # The first process has put the folder in order; the others see it as it left it.
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
        # None of the checkpoints goes before all processes have loaded the best one.
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
        """Finishes the output, in which the weights are by now; nothing in the other processes.

        The card is the model card `template` of settings, results and `card`, with `measurements` in its head.
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
    """Runs a function on the first of several processes; all return its result, or raise its error."""
    if process_count() == 1:
        return work()
    from accelerate.utils import broadcast_object_list

    found: list[Any] = [None]
    if is_main_process():
        try:
            found = [work()]
        except HfParaphraseError as error:
            found = [error]
    broadcast_object_list(found)
    if isinstance(found[0], HfParaphraseError):
        raise found[0]
    result: T = found[0]
    return result

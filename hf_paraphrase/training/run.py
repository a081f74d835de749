"""The template of every training run: its output, its claim on it, checkpoints, resuming, processes, logs and records.

A verb that trains is a settings dataclass that starts from
:class:`~.run_settings.TrainingRunSettings`, and a recipe of this shape::

    @recipe(ToyTrainingSettings)
    def train_toy(settings: ToyTrainingSettings) -> ToyModel:
        with TrainingRun(settings, command="train-toy", inputs=[settings.pairs]) as run:
            if not run.is_finished:
                model, examples = ...  # all that can be refused is refused before `run.train`
                trainer = ToyTrainer(model, run.arguments(ToyTrainingArguments, num_train_epochs=3), examples)
                run.train(trainer)
                if run.writes:
                    model.save_pretrained(run.folder)
                    run.write(results={"loss": ...}, template="toy", card={"title": ...})
        return ToyModel.from_pretrained(settings.output)

Everything else happens in :class:`TrainingRun`: the output appears whole or not at all; two runs never share one; one
that is killed anywhere goes on with `resume` and ends with the same result; one that is resumed with other settings or
other inputs is refused, and the message names them; of several processes all train and the first one writes; what
`report_to` logs in files lies in the folder `logs` of the output.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from ..artefacts.card_heads import CARD
from ..artefacts.cards import write_card
from ..artefacts.divergence import check_finite_files
from ..artefacts.folders import check_output, check_unfinished, is_filled, output_folder, staging_path, was_finished
from ..artefacts.measurements import Measurement
from ..artefacts.provenance import fingerprint, read_provenance, write_provenance
from ..artefacts.quiet_libraries import quiet_transformers
from ..artefacts.unfinished import JOB, check_same_job, job_fingerprint
from ..errors import OutputError
from ..messages import is_main_process, log, process_count
from ..shown_text import as_given
from .devices import AcceleratorSettings
from .processes import check_in_common, lost_processes_reported, refuse_sharding, wait_before_training
from .run_settings import RunSettings

if TYPE_CHECKING:
    from transformers import Trainer, TrainingArguments

    A = TypeVar("A", bound=TrainingArguments)

CHECKPOINTS = "checkpoints"
"""The folder of the checkpoints in the unfinished output."""
LOGS = "logs"
"""The folder in the output in which the logs of a training lie that are files."""
_FREE_ON_RESUME = frozenset({"output", "report_to", "license"})


class TrainingRun:
    """A run of a training verb, from the check of its output to the finished folder; the module says how it is used.

    Args:
        settings: The checked settings of the verb.
        command: The verb, for the record.
        inputs: Files and folders that the result depends on. The record of an unfinished run has their fingerprints in
            place of their names, so that they may be moved but not changed.
        of_the_result: Settings that say what is written, and nothing about the training: they may differ when a run
            is resumed, as long as nothing is written.

    Attributes:
        settings: As given.
        inputs: As given.
        folder: The unfinished output, in which all is written.
        is_finished: Whether the run that is resumed had come to its end, so that nothing is left to do.
    """

    def __init__(
        self, settings: RunSettings, *, command: str, inputs: Sequence[str], of_the_result: Sequence[str] = ()
    ) -> None:
        self.settings = settings
        self.command = command
        self.inputs = list(dict.fromkeys(inputs))
        self.is_finished = False
        self._of_the_result = ("license", *of_the_result)
        self._output = Path(settings.output)
        self.folder = staging_path(self._output)
        self._stack = ExitStack()
        self._accelerator = settings if isinstance(settings, AcceleratorSettings) else AcceleratorSettings()
        self._job: dict[str, Any] | None = None
        self._begun = self._trained = False
        self._log: list[dict[str, Any]] = []

    def __enter__(self) -> TrainingRun:
        """Claims the output, and moves what a run that is resumed has left into place where it is whole.

        Raises:
            OutputError: If the output is in the way, another run is at work on it, there is unfinished work and
                neither flag was given, or that work was begun with other settings or inputs.
            UsageError: If the launcher asks for models that are spread over processes.
        """
        refuse_sharding()
        settings = self.settings
        flags = {"overwrite": settings.overwrite, "resume": settings.resume}
        self._output = Path(settings.output).expanduser().resolve()
        if is_main_process():
            # Another run may be about to move what is looked at here.
            check_unfinished(self._output, **flags)
        if was_finished(settings.output, self.job, **flags):
            self.folder, self.is_finished = self._output, True
            self._check_written()
            return self
        check_output(settings.output, overwrite=settings.overwrite)
        self.folder = staging_path(self._output)
        self.is_finished = settings.resume and (self.folder / CARD).is_file()
        if self.is_finished:
            wait_before_training(on_cpu=self._accelerator.is_on_cpu)
        try:
            if is_main_process():
                self._claim()
        finally:
            if self.is_finished:
                wait_before_training(on_cpu=self._accelerator.is_on_cpu)
        return self

    def _claim(self) -> None:
        settings = self.settings
        self._stack.enter_context(output_folder(settings.output, overwrite=settings.overwrite, resume=settings.resume))
        try:
            if self.is_finished or (settings.resume and (self.folder / JOB).is_file()):
                check_same_job(self.folder, self.job())
            if self.is_finished:
                self._check_written()
                self._finish()
                log(f"nothing was left to do but to move the result into place: {settings.output}")
        except BaseException as error:
            self._stack.__exit__(type(error), error, error.__traceback__)
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Moves the output into its place; after an error the unfinished work stays, to be resumed."""
        try:
            if is_main_process() and not self.is_finished:
                if error is None:
                    self._finish()
                else:
                    if self.checkpoints.is_dir() and not is_filled(self.checkpoints):
                        # A Trainer makes its folder before there is anything to keep.
                        self.checkpoints.rmdir()
                    self._stack.__exit__(kind, error, traceback)
        finally:
            if self._trained:
                # What the other processes open next is in its place then, or will never be.
                _wait_for_all()

    @property
    def writes(self) -> bool:
        """Whether this is the process that writes, and that measures what is measured once."""
        return is_main_process()

    @property
    def checkpoints(self) -> Path:
        """The folder of the checkpoints."""
        return self.folder / CHECKPOINTS

    def job(self) -> dict[str, Any]:
        """Returns what must be the same for a run to be continued: settings, inputs and the number of processes.

        Processes share the batches of an epoch, so that with another number of them it would be another run.

        Raises:
            InputError: If an input cannot be read.
        """
        if self._job is None:
            prints = {as_given(item): fingerprint(item) for item in self.inputs}
            free = _FREE_ON_RESUME.union(self._of_the_result)
            given = {name: value for name, value in self.settings.record().items() if name not in free}
            job = {name: _with_fingerprints(value, prints) for name, value in given.items()}
            named = {item for value in given.values() for item in (value if isinstance(value, list) else [value])}
            others = [found for item, found in prints.items() if item not in named]
            job |= {"inputs": others} if others else {}
            job |= {"processes": process_count()} if process_count() > 1 else {}
            self._job = job
        return self._job

    def arguments(self, arguments_class: type[A], **settings: Any) -> A:
        """Makes the arguments of a Trainer of this run, which joins the processes.

        Args:
            arguments_class: Their class.
            **settings: All but the folder, the seed, `report_to` and the choice of the device, which may be given too.
                No step asks whether its loss is finite, for which a GPU is waited for: that is seen at checkpoints.
        """
        common = {
            "output_dir": str(self.checkpoints),
            "seed": self.settings.seed,
            "report_to": getattr(self.settings, "report_to", "none"),
            "logging_nan_inf_filter": False,
        }
        return self._accelerator.trainer_arguments(arguments_class, **{**common, **settings})

    def begin(self) -> Path:
        """Writes down what the run is made with and makes the folder of the checkpoints, before any of them is made.

        :meth:`train` does it; a training without a Trainer calls it itself, once the processes have joined.

        Returns:
            The folder of the checkpoints.

        Raises:
            OutputError: If the unfinished output is of another job.
        """
        if is_main_process() and not self._begun:
            if not (self.folder / JOB).is_file() and is_filled(self.checkpoints):
                raise OutputError(
                    "the unfinished run does not say what it is made with",
                    path=self.folder,
                    remedy="start afresh with --overwrite and without --resume",
                )
            if not (self.folder / JOB).is_file():
                check_same_job(self.folder, self.job())
            self.checkpoints.mkdir(parents=True, exist_ok=True)
        self._begun = True
        return self.checkpoints

    def train(self, trainer: Trainer) -> None:
        """Trains from the newest complete checkpoint of a Trainer, or from the beginning where there is none.

        A run may have several trainers, one after the other, each with a folder of its own below that of the
        checkpoints.

        Args:
            trainer: A Trainer with arguments from :meth:`arguments`.

        Raises:
            OutputError: If the unfinished output is of another job, or a process does not see it.
            ModelError: If it diverges, and no better weights are kept.
            UsageError: If wandb cannot log, as where nobody is logged in, or the processes were started differently.
            HfParaphraseError: If another process of the training has ended.
        """
        from .callbacks import kept_logs

        self._trained = False
        folder = Path(trainer.args.output_dir)
        logs = self.folder / LOGS / folder.relative_to(self.checkpoints)
        with lost_processes_reported():
            # Before anything is written down: where logging is not possible nothing is begun.
            with kept_logs(trainer, logs, self._output.name):
                self._train(trainer, folder)
            # None of the checkpoints goes before all processes have loaded the best one.
            _wait_for_all()
        self._trained = True

    def _train(self, trainer: Trainer, folder: Path) -> None:
        from .callbacks import EndAtDivergence, LossAtCheckpoints, last_checkpoint, log_of_steps

        check_in_common(job_fingerprint(self.job()), self.folder)
        self.begin()
        if is_main_process():
            folder.mkdir(parents=True, exist_ok=True)
            last_checkpoint(folder)
        # The first process has put the folder in order; the others see it as it left it.
        _wait_for_all()
        checkpoint = last_checkpoint(folder)
        _wait_for_all()
        if self.settings.resume:
            step = checkpoint.name.rpartition("-")[2] if checkpoint else None
            log(f"resuming after step {step}" if checkpoint else "nothing to resume yet")
        trainer.add_callback(EndAtDivergence)
        trainer.add_callback(LossAtCheckpoints)
        with quiet_transformers(warns=True):
            trainer.train(resume_from_checkpoint=None if checkpoint is None else str(checkpoint))
        self._log += log_of_steps(trainer.state.log_history)

    def write(
        self,
        *,
        results: Mapping[str, Any],
        template: str,
        card: Mapping[str, Any] | None = None,
        measurements: Sequence[Measurement] = (),
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        """Writes record, report and, which says that all is written, card; nothing in the other processes.

        The weights lie in the folder by then: those of a training that diverged are no result.

        Args:
            results: What was measured; `log`, what the Trainers have logged, is added to it where it is not there.
            template: The name of the card's template among the model cards.
            card: What it needs beside settings, results and the name of the folder.
            measurements: What of it the Hub is told, in the head of the card.
            settings: Those to record, if not those of the run.

        Raises:
            ModelError: If a weight is infinite or not a number.
        """
        if not self.writes:
            return
        check_finite_files(self.folder, but=self.checkpoints)
        settings = self.settings.record() if settings is None else settings
        logged = {"log": self._log} if self._log and "log" not in results else {}
        results = {**results, **logged}
        write_provenance(self.folder, command=self.command, settings=settings, inputs=self.inputs, results=results)
        values = {**settings, **results, "name": Path(self.settings.output).name, **(card or {})}
        write_card(self.folder, "model_cards", template, values, measurements, report=True)

    def _check_written(self) -> None:
        """Refuses settings of the result that are not those with which it was written."""
        written = read_provenance(self.folder).get("settings", {})
        settings = self.settings.record()
        changed = sorted(name for name in self._of_the_result if settings[name] != written.get(name))
        if changed:
            raise OutputError(
                f"the unfinished run has written its result with other settings: {', '.join(changed)}",
                path=self.folder,
                remedy="repeat the original command with --resume, or start afresh with --overwrite",
            )

    def _finish(self) -> None:
        """Removes the checkpoints and moves the output into place.

        A run that is killed anywhere can be resumed: before the card from a checkpoint, after it by the next run's
        :meth:`__enter__`.
        """
        if not (self.folder / CARD).is_file():
            raise RuntimeError("the run has written no card, which comes last")
        if self.checkpoints.is_dir():
            shutil.rmtree(self.checkpoints)
        self._stack.close()


def _with_fingerprints(value: Any, prints: Mapping[str, str]) -> Any:
    """Puts the fingerprints of inputs in place of their names."""
    if isinstance(value, list):
        return [_with_fingerprints(item, prints) for item in value]
    return prints.get(value, value) if isinstance(value, str) else value


def _wait_for_all() -> None:
    from .processes import wait_for_all

    wait_for_all()

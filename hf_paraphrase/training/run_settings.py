"""What every training verb is told about its run; :mod:`.run` has the run itself."""

from __future__ import annotations

from dataclasses import dataclass

from ..artefacts.cards import check_license
from ..errors import UsageError
from ..settings import Settings, seed_setting, setting
from .devices import AcceleratorSettings


@dataclass(kw_only=True)
class RunSettings(Settings):
    """What every training verb is told about its run."""

    output: str = setting("the model folder to make; it appears whole at the end")
    seed: int = seed_setting("seed of all that is drawn: initial weights, samples, the order of the examples, dropout")
    license: str | None = setting(
        "the licence of the model for the card, as the Hub spells it, e.g. apache-2.0 [default: none is claimed]", None
    )
    overwrite: bool = setting("replace an existing output folder (once the new one is complete)", False)
    resume: bool = setting("continue the unfinished run for this output, with the same result", False)

    def check(self) -> None:
        """Refuses values that do not fit.

        Raises:
            UsageError: For a value out of range, and for a licence that the Hub spells otherwise.
        """
        super().check()
        check_license(self.license)


@dataclass(kw_only=True)
class TrainingRunSettings(AcceleratorSettings, RunSettings):
    """What a training verb with a Trainer is told about its run."""

    report_to: str = setting(
        "where the Trainer logs to, e.g. tensorboard or wandb, whose files lie in the folder logs of the output; none "
        "for nowhere",
        "none",
    )

    def check(self) -> None:
        """Refuses values that do not fit.

        Raises:
            UsageError: For a value out of range, and for an integration that is not installed.
        """
        super().check()
        if self.report_to == "none":
            return
        from transformers.integrations import INTEGRATION_TO_CALLBACK, get_available_reporting_integrations

        available = get_available_reporting_integrations()
        if self.report_to not in available:
            raise UsageError(
                f"--report-to {self.report_to} is not installed",
                remedy=f"pip install {self.report_to}, or one of {', '.join(['none', *available])}"
                if self.report_to in INTEGRATION_TO_CALLBACK
                else f"one of {', '.join(['none', *available])}",
            )

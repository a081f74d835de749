"""What a suite of `evaluate` does; `evaluate` itself opens the encoders and puts the results where they belong."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from ..artefacts.hub_models import fetched_folder
from ..artefacts.measurements import Measurement
from ..artefacts.provenance import fingerprint, versions
from ..errors import UsageError
from ..evaluation.scorer import Scorer
from ..settings import settings_of

if TYPE_CHECKING:
    from .evaluate import Arguments


class Measured(Protocol):
    """The results of one scorer."""

    @property
    def name(self) -> str:
        """A model folder or a floor."""

    @property
    def kind(self) -> str:
        """`model` or `baseline`."""


class Suite(ABC):
    """One benchmark, from its data to its tables.

    Args:
        arguments: The parsed arguments.

    Attributes:
        NAMES: The values of `--suite` that mean this one.
        SECTION: The name of the section of a card that `--update-card` writes, in the comments that enclose it.
        HEADING: That section's heading.
        TRAINED: What the card says was trained on top of the vectors.

    Raises:
        UsageError: For flags that do not fit together.
    """

    NAMES: ClassVar[tuple[str, ...]]
    SECTION: ClassVar[str] = "hf-paraphrase evaluate"
    HEADING: ClassVar[str] = "Evaluation"
    TRAINED: ClassVar[str] = "nothing was trained on top"

    def __init__(self, arguments: Arguments) -> None:
        self.arguments = arguments
        self.check()

    @abstractmethod
    def check(self) -> None:
        """Refuses flags that cannot work, before anything is read."""

    @abstractmethod
    def read(self) -> None:
        """Reads the data, before any encoder is opened."""

    @abstractmethod
    def measure(self, scorer: Scorer) -> Measured:
        """Evaluates one scorer."""

    @abstractmethod
    def report(self, results: Sequence[Any]) -> str:
        """Lays out the tables of one or several scorers, ending in a newline."""

    @abstractmethod
    def results_of(self, result: Any) -> dict[str, Any]:
        """Returns the results of one scorer as plain values for JSON."""

    @abstractmethod
    def about(self) -> dict[str, Any]:
        """Returns what the results file says about the suite: its protocol and what was not there."""

    @abstractmethod
    def inputs(self) -> list[Path]:
        """Lists what was read."""

    @abstractmethod
    def evaluation(self, result: Any, record: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """Builds what the provenance of a model keeps of its evaluation, and names it."""

    @abstractmethod
    def measurements(self, result: Any) -> list[Measurement]:
        """Lists what was measured of one scorer."""

    def data_folder(self) -> Path:
        """Returns the one folder of data.

        Raises:
            UsageError: If there are several.
        """
        if len(self.arguments.data) != 1:
            raise UsageError(
                f"evaluate: {len(self.arguments.data)} folders of --data", remedy=f"--suite {self.name} takes one"
            )
        return Path(self.arguments.data[0])

    @property
    def name(self) -> str:
        """The suite that was asked for."""
        return self.arguments.suite

    def record(self, results: Sequence[Measured]) -> dict[str, Any]:
        """Builds the content of the results file: what was measured, on what, with which settings and versions."""
        settings = settings_of(self.arguments)
        if len(self.arguments.data) == 1:
            settings["data"] = self.arguments.data[0]
        about = self.about()
        return {
            "suite": self.name,
            "protocol": about.pop("protocol"),
            "results": [
                {"name": item.name, "kind": item.kind, **_fingerprint(item), **self.results_of(item)}
                for item in results
            ],
            **about,
            "inputs": [
                {"name": f"{path.parent.name}/{path.name}", "sha256": fingerprint(path)} for path in self.inputs()
            ],
            "settings": settings,
            "versions": versions(),
        }


def _fingerprint(result: Measured) -> dict[str, str]:
    known = result.kind == "model" and (fetched_folder(result.name) is not None or Path(result.name).is_dir())
    return {"sha256": fingerprint(result.name)} if known else {}

"""The interface of suites: data that is read once, a measure of each scorer, and tables of all scorers.

To add a suite, write a function from the settings of `evaluate` to a :class:`Benchmark`, and register it:

    from hf_paraphrase.evaluation import Benchmark, Measurement, Scores, Suite
    from hf_paraphrase.registry import SUITES

    def read(settings): ...

    SUITES.register("mine")(Suite(read))
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..artefacts.card_metadata import Measurement
from ..artefacts.provenance import fingerprint, versions
from ..data.schema import PAIRS
from ..encoders.dev_sets.pair_sets import list_columns
from ..messages import INPUT_COPIES, as_given
from ..tables import format_table, number, short_names
from .baselines import Scorer

if TYPE_CHECKING:
    from .evaluate_settings import EvaluateSettings

Row = tuple[Sequence[str], Sequence[float | None]]
NOTHING_TRAINED = "nothing was trained on top"
"""The sentence in the card of a suite that only compares vectors."""


@dataclass(frozen=True)
class Scores:
    """The results of a scorer on a benchmark; `kind` as in :class:`~.baselines.Scorer`.

    `record` has the results as plain values for JSON, and `measurements` the values for the metadata of the card.
    """

    name: str
    kind: str
    record: Mapping[str, Any] = field(default_factory=dict, repr=False)
    measurements: tuple[Measurement, ...] = field(default=(), repr=False)


def format_side_by_side(header: Sequence[str], rows: Sequence[Row], names: Sequence[str], measures: str = "") -> str:
    """Format a Markdown table with columns for each scorer.

    Each row has the cells of the `header`, and the values of all scorers in turn. `measures` names the
    columns of each scorer, separated by commas.
    """
    first, *others = measures.split(",")
    head = [*header, *(cell for name in short_names(names) for cell in (f"{name} {first}".strip(), *others))]
    return format_table(head, [[*cells, *map(number, values)] for cells, values in rows])


def format_measurements(scores: Sequence[Scores]) -> str:
    """Format the measurements of several scorers as a Markdown table, one row per measurement."""
    rows = []
    for index, measured in enumerate(scores[0].measurements):
        data = " ".join(part for part in (measured.dataset, measured.config, measured.split) if part)
        rows.append(([data, measured.name], [each.measurements[index].value for each in scores]))
    return format_side_by_side(["data", "measure"], rows, [each.name for each in scores])


@dataclass(frozen=True)
class Benchmark:
    """The data of a suite in memory, and the measure of scorers on it.

    Attributes:
        measure: Measures one scorer.
        inputs: The files and folders that were read.
        protocol: The measure in one line.
        facts: More values about the data, for the results file.
        report: Formats the tables of one or several scorers, with a newline at the end.
        name: The name of the evaluation, by default of the suite. In the provenance of a model, a later evaluation
            replaces one of the same name.
        trained: The sentence in the card about models that were trained on the vectors.
    """

    measure: Callable[[Scorer], Scores]
    inputs: Sequence[Path] = ()
    protocol: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    report: Callable[[Sequence[Scores]], str] = format_measurements
    name: str | None = None
    trained: str = NOTHING_TRAINED

    def record(self, settings: EvaluateSettings) -> dict[str, Any]:
        """Build the record of data and settings for the results file and the provenance of a model."""
        given = settings.record()
        if len(settings.data) == 1:
            given["data"] = given["data"][0]
        inputs = [
            {
                "name": as_given(str(path)) if str(path) in INPUT_COPIES else f"{path.parent.name}/{path.name}",
                "sha256": fingerprint(path),
            }
            for path in self.inputs
        ]
        about = {"suite": settings.suite, "protocol": self.protocol, **self.facts}
        return {**about, "inputs": inputs, "settings": given, "versions": versions()}


@dataclass(frozen=True, repr=False)
class Suite:
    """An entry of the registry of suites.

    Attributes:
        read: Checks the settings of the suite, and reads the data.
        recognise: Returns whether a file or folder has data of this suite; the first suite of the registry that
            recognises the data evaluates it. By default only `--suite` selects the suite.
        several: Whether one call of `read` reads all files and folders; otherwise it is called for each.
        settings: The settings of `evaluate` that this suite uses and some other suites do not.
        heading: The heading of the section of a card that `--update-card` writes.
    """

    read: Callable[[EvaluateSettings], Benchmark]
    recognise: Callable[[Path], bool] = lambda path: False
    several: bool = False
    settings: tuple[str, ...] = ()
    heading: str = "Evaluation"

    def __repr__(self) -> str:
        """Show the function, so that the registry recognises the suite of a file that is imported again."""
        return f"Suite({self.read.__module__}.{self.read.__qualname__})"


def name_folders(settings: EvaluateSettings) -> dict[str, Path]:
    """Return the files and folders of data by the shortest names that distinguish them."""
    paths = [Path(path) for path in settings.data]
    resolved = [path.resolve() for path in paths]
    whole = [str(path if path.is_dir() else path.with_name(path.name.partition(".")[0])) for path in resolved]
    return dict(zip(short_names(whole), paths, strict=True))


def has_columns(*wanted: str, without: str = "") -> Callable[[Path], bool]:
    """Make a recogniser of files and data folders by the names of their columns."""
    return lambda path: {*wanted} <= (present := list_columns(path)) and without not in present


def has_pairs_with(find: Callable[[Iterable[str]], str | None]) -> Callable[[Path], bool]:
    """Make a recogniser of pairs with a column of labels or scores, which `find` looks for among their columns."""
    return lambda path: {*PAIRS.names} <= (present := list_columns(path)) and find(present) is not None

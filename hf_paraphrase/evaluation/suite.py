"""What a suite is: data that is read once, scorers that are measured on it one by one, and tables of all of them.

A suite of the user is a function from the settings of `evaluate` to a :class:`Benchmark`, and a line:

    from hf_paraphrase.evaluation import Benchmark, Measurement, Scores, Suite
    from hf_paraphrase.registry import SUITES

    def read(settings): ...

    SUITES.register("mine")(Suite(read))
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..artefacts.card_heads import Measurement
from ..artefacts.provenance import fingerprint, versions
from ..errors import UsageError
from ..tables import format_table, number, short_names
from .baselines import Scorer

if TYPE_CHECKING:
    from .evaluate_settings import EvaluateSettings

NOTHING_TRAINED = "nothing was trained on top"
"""What the card says where only vectors were compared."""


@dataclass(frozen=True)
class Scores:
    """What one scorer reached on a benchmark.

    Attributes:
        kind: `model`, `truncated` or `baseline`, as of :class:`~.baselines.Scorer`.
        record: What was measured, as plain values for JSON.
        measurements: The numbers that the head of the model's card shall have.
    """

    name: str
    kind: str
    record: Mapping[str, Any] = field(default_factory=dict, repr=False)
    measurements: tuple[Measurement, ...] = field(default=(), repr=False)


def format_measurements(scores: Sequence[Scores]) -> str:
    """Formats the measurements of several scorers as a Markdown table, one line a measurement."""
    rows = []
    for place, item in enumerate(scores[0].measurements):
        data = [part for part in (item.dataset, item.config, item.split) if part]
        rows.append([" ".join(data), item.name, *(number(each.measurements[place].value) for each in scores)])
    return format_table(["data", "measure", *short_names([item.name for item in scores])], rows)


@dataclass(frozen=True)
class Benchmark:
    """The data of a suite, read, and what is done with it.

    Attributes:
        measure: Measures one scorer.
        inputs: The files and folders that were read.
        protocol: What is measured, in a line.
        facts: What the results file says of the data besides.
        report: Lays out the tables of one or several scorers, ending in a newline.
        name: What was measured on what; in the provenance of a model a later evaluation of that name replaces this
            one. The suite's name by default.
        trained: What the card says was trained on top of the vectors.
    """

    measure: Callable[[Scorer], Scores]
    inputs: Sequence[Path] = ()
    protocol: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    report: Callable[[Sequence[Scores]], str] = format_measurements
    name: str | None = None
    trained: str = NOTHING_TRAINED

    @functools.cached_property
    def input_fingerprints(self) -> list[dict[str, str]]:
        """The names of the inputs with their SHA-256, taken when it is first asked for."""
        return [{"name": f"{path.parent.name}/{path.name}", "sha256": fingerprint(path)} for path in self.inputs]

    def record(
        self, settings: EvaluateSettings, scores: Sequence[Scores], models: Mapping[str, str]
    ) -> dict[str, Any]:
        """Builds the content of the results file; `models` are the fingerprints of those that have a folder."""
        results = []
        for item in scores:
            known = {"sha256": models[item.name]} if item.kind == "model" and item.name in models else {}
            results.append({"name": item.name, "kind": item.kind, **known, **item.record})
        return {
            "suite": settings.suite,
            "protocol": self.protocol,
            "results": results,
            **self.facts,
            **self._origin(settings),
        }

    def provenance(self, settings: EvaluateSettings, scores: Scores) -> dict[str, Any]:
        """Builds what the provenance of a model keeps of its evaluation."""
        facts = {
            "kind": f"evaluate-{settings.suite}",
            "suite": settings.suite,
            "protocol": self.protocol,
            **self.facts,
        }
        return {**facts, **scores.record, **self._origin(settings)}

    def _origin(self, settings: EvaluateSettings) -> dict[str, Any]:
        given = settings.record()
        if len(settings.data) == 1:
            given["data"] = settings.data[0]
        return {"inputs": self.input_fingerprints, "settings": given, "versions": versions()}


@dataclass(frozen=True, repr=False)
class Suite:
    """A row of the registry of suites.

    Attributes:
        read: Checks the settings that are its own, and reads the data.
        settings: Those of the settings of `evaluate` that are not for every suite and that this one has a use for.
        section: The name of the section of a card that `--update-card` writes, in the comments that enclose it.
        heading: That section's heading.
    """

    read: Callable[[EvaluateSettings], Benchmark]
    settings: tuple[str, ...] = ()
    section: str = "hf-paraphrase evaluate"
    heading: str = "Evaluation"

    def __repr__(self) -> str:
        """Names it by its function, so that a file that is imported again registers the same suite."""
        return f"Suite({self.read.__module__}.{self.read.__qualname__})"


def one_folder(settings: EvaluateSettings) -> Path:
    """Returns the one folder of data."""
    if len(settings.data) != 1:
        raise UsageError(f"{len(settings.data)} folders of --data", remedy=f"--suite {settings.suite} takes one")
    return Path(settings.data[0])


def named_folders(settings: EvaluateSettings) -> dict[str, Path]:
    """Returns the folders of data by names that are as long as it takes to distinguish them."""
    folders = [Path(folder) for folder in settings.data]
    resolved = [str(folder.resolve()) for folder in folders]
    if len(set(resolved)) < len(folders):
        raise UsageError("a folder of --data occurs twice", remedy="give each folder once")
    return dict(zip(short_names(resolved), folders, strict=True))

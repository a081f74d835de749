"""What a suite is: data that is read once, scorers that are measured on it one by one, and tables of all of them.

A suite of the user is a function from the settings of `evaluate` to a :class:`Benchmark`, and a line:

    from hf_paraphrase.evaluation import Benchmark, Measurement, Scores, Suite
    from hf_paraphrase.registry import SUITES

    def read(settings): ...

    SUITES.register("mine")(Suite(read))
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..artefacts.card_heads import Measurement
from ..artefacts.hub_models import fetched_folder
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
        name: A model folder or a baseline.
        kind: `model`, `truncated` or `baseline`, as of :class:`~.baselines.Scorer`.
        result: What was measured, as the benchmark's report wants it.
        record: The same as plain values for JSON.
        measurements: The numbers that the head of the model's card shall have.
    """

    name: str
    kind: str
    result: Any = field(default=None, repr=False)
    record: Mapping[str, Any] = field(default_factory=dict, repr=False)
    measurements: tuple[Measurement, ...] = field(default=(), repr=False)

    @classmethod
    def of_tasks(cls, scorer: Scorer, results: Sequence[Any]) -> Scores:
        """Makes the scores of a scorer out of its results, one a task, which say themselves what is recorded."""
        record = {"tasks": [item.as_dict() for item in results]}
        return cls(
            scorer.name, scorer.kind, results, record, tuple(one for item in results for one in item.measurements())
        )


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
        kind: What the provenance of a model calls such an evaluation.
        kept: Which parts of a scorer's record and of the results file the provenance of a model keeps; all of the
            former, the protocol and the facts by default.
        trained: What the card says was trained on top of the vectors.
    """

    measure: Callable[[Scorer], Scores]
    inputs: Sequence[Path] = ()
    protocol: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    report: Callable[[Sequence[Scores]], str] = format_measurements
    name: str | None = None
    kind: str | None = None
    kept: tuple[str, ...] | None = None
    trained: str = NOTHING_TRAINED

    @functools.cached_property
    def input_fingerprints(self) -> list[dict[str, str]]:
        """The names of the inputs with their SHA-256, taken when it is first asked for."""
        return [{"name": f"{path.parent.name}/{path.name}", "sha256": fingerprint(path)} for path in self.inputs]

    def record(
        self, settings: EvaluateSettings, scores: Sequence[Scores], models: Mapping[str, str]
    ) -> dict[str, Any]:
        """Builds the content of the results file: what was measured, on what, with which settings and versions."""
        given = settings.record()
        if len(settings.data) == 1:
            given["data"] = settings.data[0]
        results = [
            {"name": item.name, "kind": item.kind, **_model_entry(item, models), **item.record} for item in scores
        ]
        return {
            "suite": settings.suite,
            "protocol": self.protocol,
            "results": results,
            **self.facts,
            "inputs": self.input_fingerprints,
            "settings": given,
            "versions": versions(),
        }

    def evaluation(
        self, settings: EvaluateSettings, scores: Scores, models: Mapping[str, str]
    ) -> tuple[str, dict[str, Any]]:
        """Builds what the provenance of a model keeps of its evaluation, and names it."""
        record = self.record(settings, [scores], models)
        kept = self.kept if self.kept is not None else (*scores.record, "protocol", *self.facts)
        recorded = {**record, **scores.record}
        return f"evaluate {self.name or settings.suite}", {
            "kind": self.kind or f"evaluate-{settings.suite}",
            **{key: recorded[key] for key in (*kept, "inputs", "settings", "versions")},
        }


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


def words_of(flag: str, given: Iterable[str], known: Iterable[str]) -> list[str]:
    """Splits names at commas."""
    given = list(given)
    words = [part.strip() for word in given for part in word.split(",") if part.strip()]
    if given and not words:
        raise UsageError(f"--{flag} is empty", remedy=f"give some of {', '.join(known)}")
    return words


def model_fingerprints(names: Iterable[str]) -> dict[str, str]:
    """Computes the SHA-256 of each model that has a folder, by its name."""
    known = [name for name in names if fetched_folder(name) is not None or Path(name).is_dir()]
    return {name: fingerprint(name) for name in known}


def _model_entry(scores: Scores, models: Mapping[str, str]) -> dict[str, str]:
    return {"sha256": models[scores.name]} if scores.kind == "model" and scores.name in models else {}

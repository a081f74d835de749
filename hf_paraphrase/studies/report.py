"""Reports of the verb `analyze`: a folder with a card, tables as TSV files, numbers as JSON, and pictures."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..artefacts.artefact import Artefact, Card
from ..artefacts.files import atomic_write_text
from ..messages import log
from ..settings import setting
from ..training.devices import DeviceSettings
from .figures import check_plots


@dataclass(kw_only=True)
class ReportSettings(DeviceSettings):
    """What all reports have in common."""

    output: str = setting("output folder; the report is its README.md")
    overwrite: bool = setting("replace an existing output folder", False)


@dataclass(frozen=True)
class Report:
    """A report in the making."""

    artefact: Artefact
    name: str

    def picture(self, name: str) -> Path:
        """Return the path of a picture in the folder."""
        return self.artefact.staging / "plots" / f"{name}.png"

    def table(self, name: str, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        """Write a TSV file; of floats six digits, and an empty field for None."""
        lines = ["\t".join(header), *("\t".join(map(_cell, row)) for row in rows)]
        atomic_write_text(self.artefact.staging / f"{name}.tsv", "\n".join(lines) + "\n")

    def finish(self, numbers: Mapping[str, Any], values: Mapping[str, Any], summary: str) -> None:
        """Write the numbers to `analysis.json`, the card from its values, and log a summary."""
        text = json.dumps(numbers, indent=2, ensure_ascii=False) + "\n"
        atomic_write_text(self.artefact.staging / "analysis.json", text)
        self.artefact.finish(results=numbers, card=Card(self.name, values, report=True))
        log(summary.rstrip())
        log(f"the report is {self.artefact.output}/README.md")


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return "" if value is None else " ".join(str(value).split())


@contextmanager
def report(
    kind: str, settings: ReportSettings, inputs: Iterable[str | None], *, card: str, draws: bool = False
) -> Iterator[Report]:
    """Open the output folder of `analyze KIND`; an input that was not given is None, `card` a template."""
    if draws:
        check_plots()
    given = [item for item in inputs if item is not None]
    command = f"analyze {kind}"
    with Artefact(
        settings.output, command=command, settings=settings, inputs=given, overwrite=settings.overwrite
    ) as artefact:
        yield Report(artefact, card)

"""The recipe of the verb `evaluate`: encoders and baselines in, tables out, beside one another on one suite."""

from __future__ import annotations

import json
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..artefacts.artefact import output_file
from ..artefacts.cards import add_results, check_evaluated_card
from ..artefacts.files import written_whole
from ..artefacts.hub_models import fetched_folder
from ..artefacts.provenance import fingerprint
from ..artefacts.report import is_report, render_report
from ..errors import HfParaphraseError
from ..messages import log
from ..registry import SUITES
from ..settings import recipe
from .baselines import UNTRAINED_BASELINES, scorers, truncated_name
from .evaluate_settings import EvaluateSettings
from .suite import Benchmark, Scores, Suite


@dataclass(frozen=True)
class Evaluation:
    """What was measured of each baseline and each model, in this order; it prints as its tables, Markdown."""

    suite: str
    scores: tuple[Scores, ...]
    text: str = field(repr=False)
    record: dict[str, Any] = field(repr=False)

    def __str__(self) -> str:
        """Returns the tables."""
        return self.text

    def _repr_markdown_(self) -> str:
        return self.text


@recipe(EvaluateSettings)
def evaluate(settings: EvaluateSettings) -> Evaluation:
    """Measures sentence encoders and baselines side by side on one suite.

    Returns:
        The tables, and the numbers that are in them.
    """
    suite: Suite = SUITES[settings.suite]
    # A report without results is what a run that was killed between the two has left.
    incomplete = settings.report is not None and is_report(settings.report)
    with (
        output_file(settings.output, overwrite=settings.overwrite) if settings.output else nullcontext(),
        output_file(settings.report, overwrite=settings.overwrite or incomplete) if settings.report else nullcontext(),
    ):
        if settings.update_card:
            for folder in settings.models_by_name().values():
                check_evaluated_card(folder)
        benchmark = suite.read(settings)
        # All models are opened before the first one works: a wrong folder at the end of the list costs nothing.
        how: dict[str, Any] = {"device": settings.device, "batch_size": settings.batch_size}
        folders = settings.models_by_name()
        models = [
            scorer
            for name, folder in folders.items()
            for scorer in scorers(folder, name=name, sizes=settings.truncate_dim, **how)
        ]
        baselines = [UNTRAINED_BASELINES[name] for name in dict.fromkeys(settings.baseline)]
        # Before the work, during which a file may change.
        fingerprints = {
            name: fingerprint(folder)
            for name, folder in folders.items()
            if fetched_folder(folder) is not None or Path(folder).is_dir()
        }
        _ = benchmark.input_fingerprints
        scores = tuple(benchmark.measure(scorer) for scorer in (*baselines, *models))
        record = benchmark.record(settings, scores, fingerprints)
        evaluation = Evaluation(settings.suite, scores, benchmark.report(scores), record)
        try:
            _write(settings, suite, benchmark, evaluation)
        except HfParaphraseError:
            log(evaluation.text)  # it may have taken hours
            raise
        return evaluation


def _write(settings: EvaluateSettings, suite: Suite, benchmark: Benchmark, evaluation: Evaluation) -> None:
    """Writes results, report and cards."""
    if settings.output is not None and settings.report is not None:
        text = json.dumps(evaluation.record, indent=2, ensure_ascii=False, allow_nan=False)
        # The report takes its place first, because where the results are there is a report.
        with written_whole(settings.output) as results, written_whole(settings.report) as report:
            report.write_text(_report(settings, suite, benchmark, evaluation), encoding="utf-8")
            results.write_text(text + "\n", encoding="utf-8", errors="backslashreplace")
        log(f"results in {settings.output}, and for a browser in {settings.report}")
    for item in evaluation.scores if settings.update_card else ():
        if item.kind != "model":
            continue
        names = {item.name, *(truncated_name(item.name, size) for size in settings.truncate_dim)}
        tables = benchmark.report([own for own in evaluation.scores if own.kind == "baseline" or own.name in names])
        body = "\n".join(f"#{line}" if line.startswith("## ") else line for line in tables.split("\n"))
        text = f"## {suite.heading}\n\nWritten by `hf-paraphrase evaluate`; {benchmark.trained}.\n\n{body}"
        name, kept = f"evaluate {benchmark.name or settings.suite}", benchmark.provenance(settings, item)
        folder = settings.models_by_name()[item.name]
        add_results(folder, name, kept, item.measurements, section=suite.section, text=text)
        log(f"results in {Path(folder) / 'README.md'}")


def _report(settings: EvaluateSettings, suite: Suite, benchmark: Benchmark, evaluation: Evaluation) -> str:
    """Makes the page with the tables."""
    models = [item for item in evaluation.record["results"] if "sha256" in item]
    record = {
        **evaluation.record,
        "command": "hf-paraphrase evaluate",
        "results": {},  # they are in the tables
        "inputs": [*evaluation.record["inputs"], *({**item, "name": Path(item["name"]).name} for item in models)],
    }
    protocol = f"{benchmark.protocol}\n\n" if benchmark.protocol else ""
    text = f"# {suite.heading} ({settings.suite})\n\n{protocol}{evaluation.text}"
    return render_report(text, record)

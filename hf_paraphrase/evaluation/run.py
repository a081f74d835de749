"""The recipe of the verb `evaluate`: encoders and baselines in, tables out, beside one another on one suite."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..artefacts.artefact import output_file
from ..artefacts.cards import add_results, check_evaluated_card
from ..artefacts.files import written_whole
from ..artefacts.report import is_report, render_report
from ..errors import HfParaphraseError
from ..messages import log
from ..registry import SUITES
from ..settings import recipe
from .baselines import baseline, scorers, truncated_name
from .evaluate_settings import EvaluateSettings
from .suite import Benchmark, Scores, Suite, model_fingerprints


@dataclass(frozen=True)
class Evaluation:
    """What was measured; it prints as its tables.

    Attributes:
        suite: The suite.
        scores: What each baseline and each model reached, in this order.
        text: The tables, Markdown that lines up in a terminal.
        record: The content of the results file.
    """

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
            for name in settings.model:
                check_evaluated_card(name)
        return _evaluate(settings, suite)


def _evaluate(settings: EvaluateSettings, suite: Suite) -> Evaluation:
    benchmark = suite.read(settings)
    # All models are opened before the first one works, so that a wrong folder at the end of the list costs nothing.
    how: dict[str, Any] = {"device": settings.device, "batch_size": settings.batch_size}
    sizes = settings.truncate_dim
    models = [scorer for name in dict.fromkeys(settings.model) for scorer in scorers(name, sizes=sizes, **how)]
    baselines = [baseline(name, **how) for name in dict.fromkeys(settings.baseline)]
    # Before the work, during which a file may change.
    fingerprints = model_fingerprints([item.name for item in models])
    _ = benchmark.input_fingerprints
    scores = tuple(benchmark.measure(scorer) for scorer in (*baselines, *models))
    evaluation = Evaluation(
        settings.suite, scores, benchmark.report(scores), benchmark.record(settings, scores, fingerprints)
    )
    try:
        _write(settings, suite, benchmark, evaluation, fingerprints)
    except HfParaphraseError:
        log(evaluation.text)  # it may have taken hours
        raise
    return evaluation


def _write(
    settings: EvaluateSettings,
    suite: Suite,
    benchmark: Benchmark,
    evaluation: Evaluation,
    fingerprints: Mapping[str, str],
) -> None:
    if settings.output is not None and settings.report is not None:
        text = json.dumps(evaluation.record, indent=2, ensure_ascii=False, allow_nan=False)
        # The report takes its place first, because where the results are there is a report.
        with written_whole(settings.output) as results, written_whole(settings.report) as report:
            report.write_text(_report(settings, suite, benchmark, evaluation), encoding="utf-8")
            results.write_text(text + "\n", encoding="utf-8", errors="backslashreplace")
        log(f"results in {settings.output}, and for a browser in {settings.report}")
    if not settings.update_card:
        return
    for item in evaluation.scores:
        if item.kind == "model":
            names = {item.name, *(truncated_name(item.name, size) for size in settings.truncate_dim)}
            own = [other for other in evaluation.scores if other.kind == "baseline" or other.name in names]
            name, kept = benchmark.evaluation(settings, item, fingerprints)
            text = _card_section(suite.heading, benchmark.trained, benchmark.report(own))
            add_results(item.name, name, kept, item.measurements, section=suite.section, text=text)
            log(f"results in {Path(item.name) / 'README.md'}")


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


def _card_section(heading: str, trained: str, report: str) -> str:
    """Makes a section of a card out of the tables: the same text under a heading of its own, one level down."""
    body = "\n".join(f"#{line}" if line.startswith("## ") else line for line in report.split("\n"))
    return f"## {heading}\n\nWritten by `hf-paraphrase evaluate`; {trained}.\n\n{body}"

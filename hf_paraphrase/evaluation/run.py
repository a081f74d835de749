"""The recipe of the verb `evaluate`: encoders and baselines in, tables out, beside one another on one suite."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..artefacts.artefact import output_file
from ..artefacts.cards import add_results, check_evaluated_card
from ..artefacts.files import write_text_whole
from ..artefacts.hub_models import fetched_folder
from ..artefacts.provenance import fingerprint
from ..errors import HfParaphraseError
from ..messages import log
from ..registry import SUITES
from ..settings import recipe
from .baselines import UNTRAINED_BASELINES, scorers, truncated_name
from .evaluate_settings import EvaluateSettings
from .suite import Benchmark, Scores, Suite


@dataclass(frozen=True)
class Evaluation:
    """What was measured of each baseline and each model, in this order; it prints as its tables, Markdown.

    Where the data are for several suites, their names and scores are after each other, and their records below
    `suites` of the record.
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
    """Measures sentence encoders and baselines side by side on data of one or several suites.

    Returns:
        The tables, and the numbers that are in them.
    """
    with output_file(settings.output, overwrite=settings.overwrite) if settings.output else nullcontext():
        parts = settings.by_suite()
        folders = settings.models_by_name()
        if settings.update_card:
            for folder in folders.values():
                check_evaluated_card(folder)
        benchmarks: list[Benchmark] = [SUITES[part.suite or ""].read(part) for part in parts]
        # All models are opened before the first one works: a wrong folder at the end of the list costs nothing.
        how: dict[str, Any] = {"device": settings.device, "batch_size": settings.batch_size}
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
        for benchmark in benchmarks:
            _ = benchmark.input_fingerprints
        scores = [tuple(benchmark.measure(scorer) for scorer in (*baselines, *models)) for benchmark in benchmarks]
        measured = list(zip(parts, benchmarks, scores, strict=True))
        records = [{**item.record(part), "results": _results(own, fingerprints)} for part, item, own in measured]
        texts = [item.report(own) for _, item, own in measured]
        if len(texts) > 1:
            titles = (f"# {SUITES[part.suite or ''].heading} ({part.suite})" for part in parts)
            texts = [f"{title}\n\n{text}" for title, text in zip(titles, texts, strict=True)]
        evaluation = Evaluation(
            suite=" ".join(dict.fromkeys(record["suite"] for record in records)),
            scores=tuple(each for own in scores for each in own),
            text="\n".join(texts),
            record=records[0] if len(records) == 1 else {"suites": records},
        )
        try:
            if settings.output is not None:
                text = json.dumps(evaluation.record, indent=2, ensure_ascii=False, allow_nan=False)
                write_text_whole(settings.output, text + "\n")
                log(f"results in {settings.output}")
            if settings.update_card:
                _update_cards(settings, measured)
        except HfParaphraseError:
            log(evaluation.text)  # it may have taken hours
            raise
        return evaluation


def _results(scores: Sequence[Scores], models: Mapping[str, str]) -> list[dict[str, Any]]:
    """Lists what the scorers reached; `models` are the fingerprints of those that have a folder."""
    results = []
    for item in scores:
        known = {"sha256": models[item.name]} if item.kind == "model" and item.name in models else {}
        results.append({"name": item.name, "kind": item.kind, **known, **item.record})
    return results


def _update_cards(
    settings: EvaluateSettings, measured: Sequence[tuple[EvaluateSettings, Benchmark, Sequence[Scores]]]
) -> None:
    """Puts the tables of each model, beside the baselines, into its card; a suite has one section."""
    tables: dict[tuple[str, str], str] = {}
    for part, benchmark, scores in measured:
        suite: Suite = SUITES[part.suite or ""]
        for item in scores:
            if item.kind != "model":
                continue
            names = {item.name, *(truncated_name(item.name, size) for size in settings.truncate_dim)}
            own = benchmark.report([other for other in scores if other.kind == "baseline" or other.name in names])
            section = "hf-paraphrase evaluate" + ("" if part.suite == "sts" else f": {part.suite}")
            key = (item.name, section)
            tables[key] = f"{tables[key]}\n{own}" if key in tables else own
            body = re.sub("^## ", "### ", tables[key], flags=re.MULTILINE)
            text = f"## {suite.heading}\n\nWritten by `hf-paraphrase evaluate`; {benchmark.trained}.\n\n{body}"
            kept = {"kind": f"evaluate-{part.suite}", **benchmark.record(part), **item.record}
            folder = settings.models_by_name()[item.name]
            name = f"evaluate {benchmark.name or part.suite}"
            add_results(folder, name, kept, item.measurements, section=section, text=text)
            log(f"results in {Path(folder) / 'README.md'}")

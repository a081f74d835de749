"""The command `evaluate`: measures encoders and baselines on suites, and prints tables."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..artefacts.artefact import output_file
from ..artefacts.cards import add_results, check_evaluated_card
from ..artefacts.files import atomic_write_text
from ..artefacts.hub_models import fetched_folder
from ..artefacts.provenance import fingerprint
from ..messages import log
from ..registry import SUITES
from ..settings import recipe
from .baselines import UNTRAINED_BASELINES, Scorer, name_truncated, open_scorers
from .evaluate_settings import EvaluateSettings
from .suite import Benchmark, Scores, Suite


@dataclass(frozen=True)
class Evaluation:
    """The results of each baseline and each model, in this order; it prints as Markdown tables.

    With data for several suites, their names and scores are concatenated, and their records are in
    `record["suites"]`.
    """

    suite: str
    scores: tuple[Scores, ...]
    text: str = field(repr=False)
    record: dict[str, Any] = field(repr=False)

    def __str__(self) -> str:
        """Return the tables."""
        return self.text

    _repr_markdown_ = __str__


@recipe(EvaluateSettings)
def evaluate(settings: EvaluateSettings) -> Evaluation:
    """Measure sentence encoders and baselines on data of one or several suites.

    Models may be :class:`~..encoders.sentence_encoder.SentenceEncoder` or SentenceTransformer objects, and data a
    `Dataset` or `DatasetDict`.

    Returns:
        The tables and their values.
    """
    with output_file(settings.output, overwrite=settings.overwrite) if settings.output else nullcontext():
        parts = settings.by_suite()
        folders = settings.models_by_name()
        if settings.update_card:
            for folder in folders.values():
                check_evaluated_card(folder)
        benchmarks: list[Benchmark] = [SUITES[part.suite or ""].read(part) for part in parts]
        if len(folders) > 1:
            # All folders are checked before the work begins.
            for folder in folders.values():
                open_scorers(folder, device=settings.device, batch_size=settings.batch_size)
        # Fingerprint the inputs now: a file may change during the work.
        records = [benchmark.record(part) for benchmark, part in zip(benchmarks, parts, strict=True)]
        fingerprints = {
            name: {"sha256": fingerprint(folder)}
            for name, folder in folders.items()
            if fetched_folder(folder) is not None or Path(folder).is_dir()
        }
        scores: list[list[Scores]] = [[] for _ in benchmarks]
        for scorer in _open_scorers(settings, folders):
            for own, benchmark in zip(scores, benchmarks, strict=True):
                own.append(benchmark.measure(scorer))
        if settings.update_card:
            _update_cards(settings, list(zip(parts, benchmarks, records, scores, strict=True)))
        for record, own in zip(records, scores, strict=True):
            record["results"] = [
                {"name": each.name, "kind": each.kind, **fingerprints.get(each.name, {}), **each.record}
                for each in own
            ]
        texts = [benchmark.report(own) for benchmark, own in zip(benchmarks, scores, strict=True)]
        if len(texts) > 1:
            titles = (f"# {SUITES[part.suite or ''].heading} ({part.suite})" for part in parts)
            texts = [f"{title}\n\n{text}" for title, text in zip(titles, texts, strict=True)]
        evaluation = Evaluation(
            suite=" ".join(dict.fromkeys(record["suite"] for record in records)),
            scores=tuple(each for own in scores for each in own),
            text="\n".join(texts),
            record=records[0] if len(records) == 1 else {"suites": records},
        )
        if settings.output is not None:
            text = json.dumps(evaluation.record, indent=2, ensure_ascii=False, allow_nan=False)
            atomic_write_text(settings.output, text + "\n")
            log(f"results in {settings.output}")
        return evaluation


def _open_scorers(settings: EvaluateSettings, folders: Mapping[str, str]) -> Iterator[Scorer]:
    """Yield the baselines and the scorers of each model; a single model is in memory."""
    yield from (UNTRAINED_BASELINES[name] for name in dict.fromkeys(settings.baseline))
    for name, folder in folders.items():
        options: dict[str, Any] = {"device": settings.device, "batch_size": settings.batch_size}
        yield from open_scorers(folder, name=name, sizes=settings.truncate_dim, **options)


def _update_cards(
    settings: EvaluateSettings,
    measured: Sequence[tuple[EvaluateSettings, Benchmark, Mapping[str, Any], Sequence[Scores]]],
) -> None:
    """Write the tables of each model and the baselines into its card, one section per suite."""
    tables: dict[tuple[str, str], str] = {}
    folders = settings.models_by_name()
    for part, benchmark, record, scores in measured:
        suite: Suite = SUITES[part.suite or ""]
        section = "hf-paraphrase evaluate" + ("" if part.suite == "sts" else f": {part.suite}")
        for model in (model for model in scores if model.kind == "model"):
            names = {model.name, *(name_truncated(model.name, size) for size in settings.truncate_dim)}
            own = benchmark.report([other for other in scores if other.kind == "baseline" or other.name in names])
            key = (model.name, section)
            tables[key] = f"{tables[key]}\n{own}" if key in tables else own
            body = re.sub("^## ", "### ", tables[key], flags=re.MULTILINE)
            text = f"## {suite.heading}\n\nWritten by `hf-paraphrase evaluate`; {benchmark.trained}.\n\n{body}"
            kept = {"kind": f"evaluate-{part.suite}", **record, **model.record}
            name = f"evaluate {benchmark.name or part.suite}"
            add_results(folders[model.name], name, kept, model.measurements, section=section, text=text)
            log(f"results in {Path(folders[model.name]) / 'README.md'}")

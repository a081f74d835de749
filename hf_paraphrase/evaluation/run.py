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
from .baselines import UNTRAINED_BASELINES, Scorer, scorers, truncated_name
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
        """Return the tables."""
        return self.text

    _repr_markdown_ = __str__


@recipe(EvaluateSettings)
def evaluate(settings: EvaluateSettings) -> Evaluation:
    """Measure sentence encoders and baselines on data of one or several suites.

    Models may be :class:`~..encoders.sentence_encoder.SentenceEncoder` or SentenceTransformer objects, and data a
    `Dataset` or `DatasetDict`.

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
        if len(folders) > 1:
            # A wrong folder at the end of the list is reported before the work begins.
            for folder in folders.values():
                scorers(folder, device=settings.device, batch_size=settings.batch_size)
        # Before the work, during which a file may change.
        records = [benchmark.record(part) for benchmark, part in zip(benchmarks, parts, strict=True)]
        fingerprints = {
            name: {"sha256": fingerprint(folder)}
            for name, folder in folders.items()
            if fetched_folder(folder) is not None or Path(folder).is_dir()
        }
        scores: list[list[Scores]] = [[] for _ in benchmarks]
        for scorer in _scorers(settings, folders):
            for own, benchmark in zip(scores, benchmarks, strict=True):
                own.append(benchmark.measure(scorer))
        if settings.update_card:
            _update_cards(settings, list(zip(parts, benchmarks, records, scores, strict=True)))
        for record, own in zip(records, scores, strict=True):
            record["results"] = [
                {"name": item.name, "kind": item.kind, **fingerprints.get(item.name, {}), **item.record}
                for item in own
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


def _scorers(settings: EvaluateSettings, folders: Mapping[str, str]) -> Iterator[Scorer]:
    """Yield the baselines and the scorers of each model; a single model is in memory."""
    yield from (UNTRAINED_BASELINES[name] for name in dict.fromkeys(settings.baseline))
    for name, folder in folders.items():
        options: dict[str, Any] = {"device": settings.device, "batch_size": settings.batch_size}
        yield from scorers(folder, name=name, sizes=settings.truncate_dim, **options)


def _update_cards(
    settings: EvaluateSettings,
    measured: Sequence[tuple[EvaluateSettings, Benchmark, Mapping[str, Any], Sequence[Scores]]],
) -> None:
    """Put the tables of each model and the baselines into its card; a suite has one section."""
    tables: dict[tuple[str, str], str] = {}
    folders = settings.models_by_name()
    for part, benchmark, record, scores in measured:
        suite: Suite = SUITES[part.suite or ""]
        section = "hf-paraphrase evaluate" + ("" if part.suite == "sts" else f": {part.suite}")
        for item in (item for item in scores if item.kind == "model"):
            names = {item.name, *(truncated_name(item.name, size) for size in settings.truncate_dim)}
            own = benchmark.report([other for other in scores if other.kind == "baseline" or other.name in names])
            key = (item.name, section)
            tables[key] = f"{tables[key]}\n{own}" if key in tables else own
            body = re.sub("^## ", "### ", tables[key], flags=re.MULTILINE)
            text = f"## {suite.heading}\n\nWritten by `hf-paraphrase evaluate`; {benchmark.trained}.\n\n{body}"
            kept = {"kind": f"evaluate-{part.suite}", **record, **item.record}
            name = f"evaluate {benchmark.name or part.suite}"
            add_results(folders[item.name], name, kept, item.measurements, section=section, text=text)
            log(f"results in {Path(folders[item.name]) / 'README.md'}")

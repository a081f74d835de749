"""The recipe of the verb `evaluate-mining`: what candidates, scores and decisions are worth where pairs are known."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from ...artefacts.artefact import Artefact, Card, check_early
from ...artefacts.files import write_text_whole
from ...artefacts.remote_paths import to_path
from ...errors import UsageError
from ...evaluation.figures import check_plots
from ...messages import log
from ...settings import recipe, seed_setting, setting
from ...training.devices import DeviceSettings
from . import study
from .collections import mined_curve, read_gold_ids
from .embedding import EncoderFolders, FilterEncoderSettings
from .matching import MATCHINGS
from .measures import Curve
from .report import curves_table, outcome_table, random_table, recall_table, write_curves
from .run import FilterOptions, check_models
from .scoring import MARGINS
from .study import PAPERS_NEGATIVES, SIZES, Outcome, RecallRow, ScoreBank, TaskPart

T = TypeVar("T")

_WORK = "work"


@dataclass(kw_only=True)
class MiningEvaluationSettings(FilterEncoderSettings, DeviceSettings):
    """Measure mining. Files that `mine` made: --pairs A B --gold FILE. A study of a whole task: --task DIR/fr-en."""

    pairs: list[str] = setting("files that `mine` made, each a row of the table", [], path=True)
    gold: str | None = setting(
        "with --pairs: the true pairs, `source id TAB target id`", None, only_with="pairs", path=True
    )
    task: str | None = setting(
        "what the files of a task begin with, e.g. task/fr-en for task/fr-en.test.fr, .en and .gold",
        None,
        prefix=True,
    )
    tuning_part: str = setting("part of the task on which thresholds are chosen", "training")
    test_part: str = setting("part of the task on which everything is measured", "test")
    candidates: int = setting("candidates of a source sentence that are scored", 40, at_least=1)
    recall_sizes: list[int] = setting(
        "numbers of candidates of a source sentence of the table of recall", [*SIZES], at_least=1
    )
    scoring_encoder: list[str] = setting(
        "folders of other encoders that score the candidates, or SOURCE_FOLDER:TARGET_FOLDER",
        [],
        path=True,
    )
    classifier: list[str] = setting("folders of classifiers of parallel sentences", [], path=True)
    margin: str = setting("kind of the margin scores", "ratio", choices=MARGINS)
    neighbours: int = setting("sentences in a neighbourhood of the margin scores", 4, at_least=1)
    one_to_one: str = setting("how the rows with a one-to-one matching match", "greedy", choices=MATCHINGS)
    fixed_threshold: float = setting("threshold of the rows that are the paper's set-up", 0.99)
    random_negatives: int = setting(
        "random pairs for each true one in the comparison of classifiers that is not on candidates; 0 = leave it out",
        PAPERS_NEGATIVES,
        at_least=0,
    )
    batch_size: int = setting("sentences in a padded batch; a model of type avg needs no batches", 256, at_least=1)
    seed: int = seed_setting("seed of the random pairs")
    output: str | None = setting(
        "report folder: tables, curves as TSV, PNG and SVG (needs matplotlib), results.json; needed with --task",
        None,
    )
    resume: bool = setting("continue an incomplete run of the same command", False)
    overwrite: bool = setting("replace an existing output folder", False)

    def check(self) -> None:
        """Checks that the settings are valid."""
        super().check()
        if bool(self.pairs) == bool(self.task):
            raise UsageError(
                "give either --pairs with --gold, or --task", remedy="see hf-paraphrase evaluate-mining --help"
            )
        if self.pairs and self.gold is None:
            raise UsageError("--pairs needs --gold", remedy="name the file of true pairs")
        if not self.task:
            return
        if not self.recall_sizes or self.recall_sizes != sorted(set(self.recall_sizes)):
            raise UsageError("--recall-sizes must be rising numbers from 1", remedy="e.g. 1 10 40 100")
        if self.output is None:
            raise UsageError("--task needs --output", remedy="name a folder for the report")
        self.filter_encoders()
        self.scorers()
        self.classifiers()

    def scorers(self) -> dict[str, EncoderFolders]:
        """Returns the encoders that score, by the names of their rows."""
        items = [EncoderFolders.parse(text) for text in self.scoring_encoder]
        return _by_names([item.names for item in items], items, "--scoring-encoder")

    def classifiers(self) -> dict[str, str]:
        """Returns the folders of the classifiers by the names of their rows."""
        names = [to_path(folder).resolve().name for folder in self.classifier]
        return _by_names(names, self.classifier, "--classifier")


def _by_names(names: Sequence[str], items: Sequence[T], flag: str) -> dict[str, T]:
    repeated = [name for name in dict.fromkeys(names) if names.count(name) > 1 or name == "filter"]
    if repeated:
        raise UsageError(
            f"{flag}: two folders are called `{repeated[0]}`, which would be one row", remedy="rename one of them"
        )
    return dict(zip(names, items, strict=True))


@dataclass(frozen=True)
class MiningEvaluation:
    """What mining is worth.

    Attributes:
        curves: Precision and recall at every threshold, by file of pairs or by way to score and decide.
        recall: The recall of the candidates by encoder; nothing for files of pairs.
        random_outcomes: What came of each classifier among random pairs.
        outcomes: What came of each way to score and decide; nothing for files of pairs.
    """

    tables: Mapping[str, str]
    curves: Mapping[str, Curve]
    recall: Mapping[str, Sequence[RecallRow]]
    random_outcomes: Sequence[Outcome]
    outcomes: Sequence[Outcome]


@recipe(MiningEvaluationSettings)
def evaluate_mining(settings: MiningEvaluationSettings) -> MiningEvaluation:
    """Measures pairs that `mine` wrote, or what candidates, scores and decisions are worth on a task (paper 002).

    Returns:
        The tables and curves; with an output they are written there as well.
    """
    if settings.output is not None:
        if not settings.resume:
            check_early(settings.output, overwrite=settings.overwrite)
        check_plots()
    evaluation = _measure_files(settings) if settings.pairs else _study(settings)
    if settings.output is not None:
        log(f"report: {settings.output}")
    return evaluation


def _measure_files(settings: MiningEvaluationSettings) -> MiningEvaluation:
    gold_file = str(settings.gold)
    gold = read_gold_ids(Path(gold_file))
    curves = {path: mined_curve(Path(path), gold) for path in dict.fromkeys(settings.pairs)}
    evaluation = MiningEvaluation({"Measures": curves_table(curves)}, curves, {}, [], [])
    if settings.output is None:
        return evaluation
    results = {
        path: {"all": curve.at(-float("inf")).as_dict(), "best": curve.best().as_dict()}
        for path, curve in curves.items()
    }
    with Artefact(
        settings.output,
        command="evaluate-mining",
        settings=settings,
        inputs=[*settings.pairs, gold_file],
        overwrite=settings.overwrite,
    ) as artefact:
        _write_report(artefact, settings, evaluation, results)
    return evaluation


def _study(settings: MiningEvaluationSettings) -> MiningEvaluation:
    task, output = str(settings.task), str(settings.output)
    encoders, scorers, classifiers = settings.filter_encoders(), settings.scorers(), settings.classifiers()
    check_models([encoders, *scorers.values()], classifiers.values(), settings.device)
    names = {"tuning": settings.tuning_part, "test": settings.test_part}
    parts = {role: TaskPart.read(task, name) for role, name in names.items()}
    inputs = [str(path) for name in names.values() for path in TaskPart.files(task, name)]
    inputs += [folder for item in (encoders, *scorers.values()) for folder in item.folders]
    inputs = list(dict.fromkeys([*inputs, *classifiers.values()]))
    with Artefact(
        output,
        command="evaluate-mining",
        settings=settings,
        inputs=inputs,
        overwrite=settings.overwrite,
        resume=settings.resume,
        free=["device"],
    ) as artefact:
        if artefact.finished:
            return MiningEvaluation({}, {}, {}, [], [])
        work = artefact.checkpoint(_WORK)
        filtering = FilterOptions(settings.candidates, batch_size=settings.batch_size, device=settings.device)
        banks = {
            role: ScoreBank(
                part,
                encoders,
                scorers,
                classifiers,
                margin=settings.margin,
                neighbours=settings.neighbours,
                filtering=filtering,
                folder=work / role,
            )
            for role, part in parts.items()
        }
        recall = _recall(banks["test"], encoders, scorers, settings.recall_sizes)
        tables = {f"Recall of the candidates of {name}": recall_table(rows) for name, rows in recall.items()}
        among_random = _among_random_pairs(banks, settings)
        if among_random:
            tables[f"True pairs among {settings.random_negatives:,} random ones each"] = random_table(among_random)
        chosen = study.ways(
            list(scorers), list(classifiers), settings.margin, settings.one_to_one, settings.fixed_threshold
        )
        outcomes = [study.outcome(way, *(banks[role].curve(way) for role in ("tuning", "test"))) for way in chosen]
        tables[f"True pairs among the {settings.candidates} best candidates"] = outcome_table(outcomes)
        results = {
            "parts": {
                role: {
                    "name": names[role],
                    "sources": len(part.source),
                    "targets": len(part.target),
                    "gold": len(part.gold),
                    "candidates": len(banks[role].run.pairs),
                }
                for role, part in parts.items()
            },
            "recall": {name: [row.as_dict() for row in rows] for name, rows in recall.items()},
            "random_pairs": {
                item.way.name: {
                    "threshold": item.threshold,
                    **item.tested.as_dict(),
                    "best_threshold": item.curve.best_threshold(),
                    "best": item.curve.best().as_dict(),
                }
                for item in among_random
            },
            "candidates": [item.as_dict() for item in outcomes],
        }
        curves = {item.way.label: item.curve for item in outcomes}
        evaluation = MiningEvaluation(tables, curves, recall, among_random, outcomes)
        _write_report(artefact, settings, evaluation, results)
    return evaluation


def _recall(
    bank: ScoreBank, encoders: EncoderFolders, scorers: dict[str, EncoderFolders], sizes: Sequence[int]
) -> dict[str, list[RecallRow]]:
    tables = {}
    for name, item in {f"the filter ({encoders.names})": encoders, **scorers}.items():
        sides = bank.run.sides(item)
        ranks = study.gold_ranks(sides.source, sides.target, bank.part.gold, sizes[-1])
        tables[name] = study.recall_table(ranks, len(bank.part.source), len(bank.part.target), sizes)
    return tables


def _among_random_pairs(banks: Mapping[str, ScoreBank], settings: MiningEvaluationSettings) -> list[Outcome]:
    if not settings.random_negatives:
        return []

    def curve(bank: ScoreBank, folder: str) -> Curve:
        sizes = len(bank.part.source), len(bank.part.target), settings.random_negatives, settings.seed
        return study.random_pair_curve(bank.run.classified(folder), bank.part.gold, *sizes)

    return [
        study.outcome(study.classifier_way(name), *(curve(banks[role], folder) for role in ("tuning", "test")))
        for name, folder in settings.classifiers().items()
    ]


def _write_report(
    artefact: Artefact,
    settings: MiningEvaluationSettings,
    evaluation: MiningEvaluation,
    results: dict[str, Any],
) -> None:
    among_random = {item.way.name: item.curve for item in evaluation.random_outcomes}
    groups = {"candidates": evaluation.curves, "random_pairs": among_random}
    plots = [title for title, group in groups.items() if write_curves(artefact.staging, title, group)]
    text = json.dumps(results, indent=2, ensure_ascii=False, allow_nan=False)
    write_text_whole(artefact.staging / "results.json", text + "\n")
    card = Card(
        "mining_report",
        {
            "title": ", ".join(to_path(path).name for path in ([settings.task] if settings.task else settings.pairs)),
            "task": settings.task is not None,
            "parts": results.get("parts") if settings.task else None,
            "tables": evaluation.tables,
            "plots": plots,
            "fixed_threshold": settings.fixed_threshold,
            "one_to_one": settings.one_to_one,
            "neighbours": settings.neighbours,
        },
        report=True,
    )
    artefact.finish(results={"tables": list(evaluation.tables)}, card=card)

"""The recipe of the verb `evaluate-mining`: what candidates, scores and decisions are worth where pairs are known."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from ...artefacts.artefact import Artefact, Card, check_early
from ...artefacts.files import read_json_object, write_text_whole
from ...artefacts.remote_paths import to_path
from ...errors import UsageError
from ...evaluation.figures import check_plots
from ...messages import log
from ...settings import recipe, seed_setting, setting
from ...training.devices import DeviceSettings
from .collections import mined_curve, read_gold_ids
from .embedding import EncoderFolders, FilterEncoderSettings
from .matching import MATCHINGS
from .measures import Curve
from .report import folders_table, outcome_table, random_table, recall_table, write_curves
from .run import FilterOptions, MiningRun, check_models
from .scoring import MARGINS
from .study import PAPERS_NEGATIVES, SIZES, TaskPart, gold_ranks, random_pair_curve, recall_rows, ways

T = TypeVar("T")

_RESULTS = "results.json"


@dataclass(kw_only=True)
class MiningEvaluationSettings(FilterEncoderSettings, DeviceSettings):
    """Measure mining. Folders that `mine` made: --pairs A B --gold FILE. A study of a whole task: --task DIR/fr-en."""

    pairs: list[str] = setting("folders that `mine` made, each a row of the table", [], path=True)
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
    """What mining is worth: the numbers of `results.json`, and tables of them by their titles."""

    results: dict[str, Any]
    tables: dict[str, str]


@recipe(MiningEvaluationSettings)
def evaluate_mining(settings: MiningEvaluationSettings) -> MiningEvaluation:
    """Measures pairs that `mine` wrote, or what candidates, scores and decisions are worth on a task (paper 002).

    Returns:
        The numbers and tables; with an output they are written there as well, with the curves.
    """
    if settings.output is None:
        results, _ = _measure_folders(settings)
        return MiningEvaluation(results, _tables(settings, results))
    if not settings.resume:
        check_early(settings.output, overwrite=settings.overwrite)
    check_plots()
    parts: dict[str, TaskPart] = {}
    inputs = [*settings.pairs, *([settings.gold] if settings.gold else [])]
    if settings.task is not None:
        encoders = [settings.filter_encoders(), *settings.scorers().values()]
        check_models(encoders, settings.classifiers().values(), settings.device)
        names = {"tuning": settings.tuning_part, "test": settings.test_part}
        parts = {role: TaskPart.read(settings.task, name) for role, name in names.items()}
        inputs += [str(path) for part in parts.values() for path in part.files]
        inputs += [*(folder for item in encoders for folder in item.folders), *settings.classifiers().values()]
    with Artefact(
        settings.output,
        command="evaluate-mining",
        settings=settings,
        inputs=inputs,
        overwrite=settings.overwrite,
        resume=settings.resume,
        free=["device"],
    ) as artefact:
        if artefact.finished:
            results = read_json_object(artefact.target / _RESULTS)
            return MiningEvaluation(results, _tables(settings, results))
        if parts:
            results, curves = _study(settings, parts, artefact.checkpoint("work"))
        else:
            results, curves = _measure_folders(settings)
        evaluation = MiningEvaluation(results, _tables(settings, results))
        _write_report(artefact, settings, evaluation, curves)
    log(f"report: {settings.output}")
    return evaluation


Curves = dict[str, dict[str, Curve]]
"""Curves by their names, in groups."""


def _measure_folders(settings: MiningEvaluationSettings) -> tuple[dict[str, Any], Curves]:
    gold = read_gold_ids(Path(str(settings.gold)))
    curves = {path: mined_curve(path, gold) for path in dict.fromkeys(settings.pairs)}
    results = {
        path: {
            "all": curve.at(-float("inf")).as_dict(),
            "best": curve.best().as_dict(),
            "best_threshold": curve.best_threshold() if len(curve) else None,
        }
        for path, curve in curves.items()
    }
    return results, {"candidates": curves}


def _study(
    settings: MiningEvaluationSettings, parts: Mapping[str, TaskPart], work: Path
) -> tuple[dict[str, Any], Curves]:
    encoders, classifiers = settings.filter_encoders(), settings.classifiers()
    scorers = {"filter": encoders, **settings.scorers()}
    filtering = FilterOptions(settings.candidates, batch_size=settings.batch_size, device=settings.device)
    runs = {
        role: MiningRun((part.source, part.target), encoders, filtering, work / role, show_progress_bar=True)
        for role, part in parts.items()
    }
    recall = {}
    for name, item in scorers.items():
        sides, part = runs["test"].sides(item), parts["test"]
        ranks = gold_ranks(sides.source, sides.target, part.gold, settings.recall_sizes[-1])
        label = f"the filter ({item.names})" if name == "filter" else name
        recall[label] = recall_rows(ranks, len(part.source), len(part.target), settings.recall_sizes)
    curves: Curves = {"candidates": {}, "random_pairs": {}}
    random_pairs = {}
    for name, folder in classifiers.items() if settings.random_negatives else ():
        tuning, test = (
            random_pair_curve(parts[role], runs[role], folder, settings.random_negatives, settings.seed)
            for role in ("tuning", "test")
        )
        threshold = tuning.best_threshold()
        random_pairs[name] = {
            "threshold": threshold,
            **test.at(threshold).as_dict(),
            "best_threshold": test.best_threshold(),
            "best": test.best().as_dict(),
        }
        curves["random_pairs"][name] = test
    outcomes = []
    for way in ways(
        scorers, classifiers, settings.margin, settings.neighbours, settings.one_to_one, settings.fixed_threshold
    ):
        tuning, test = (way.curve(parts[role], runs[role]) for role in ("tuning", "test"))
        outcomes.append(way.outcome(tuning, test))
        curves["candidates"][way.label] = test
    results = {
        "parts": {
            role: {
                "name": name,
                "sources": len(parts[role].source),
                "targets": len(parts[role].target),
                "gold": len(parts[role].gold),
                "candidates": len(runs[role].pairs),
            }
            for role, name in (("tuning", settings.tuning_part), ("test", settings.test_part))
        },
        "recall": recall,
        "random_pairs": random_pairs,
        "candidates": outcomes,
    }
    return results, curves


def _tables(settings: MiningEvaluationSettings, results: Mapping[str, Any]) -> dict[str, str]:
    if settings.pairs:
        return {"Measures": folders_table(results)}
    tables = {f"Recall of the candidates of {name}": recall_table(rows) for name, rows in results["recall"].items()}
    if results["random_pairs"]:
        title = f"True pairs among {settings.random_negatives:,} random ones each"
        tables[title] = random_table(results["random_pairs"])
    tables[f"True pairs among the {settings.candidates} best candidates"] = outcome_table(results["candidates"])
    return tables


def _write_report(
    artefact: Artefact, settings: MiningEvaluationSettings, evaluation: MiningEvaluation, curves: Curves
) -> None:
    plots = [title for title, group in curves.items() if write_curves(artefact.staging, title, group)]
    text = json.dumps(evaluation.results, indent=2, ensure_ascii=False, allow_nan=False)
    write_text_whole(artefact.staging / _RESULTS, text + "\n")
    card = {
        "title": ", ".join(to_path(path).name for path in ([settings.task] if settings.task else settings.pairs)),
        "task": settings.task is not None,
        "parts": evaluation.results.get("parts") if settings.task else None,
        "tables": evaluation.tables,
        "plots": plots,
        "fixed_threshold": settings.fixed_threshold,
        "one_to_one": settings.one_to_one,
        "neighbours": settings.neighbours,
    }
    artefact.finish(results={"tables": list(evaluation.tables)}, card=Card("mining_report", card, report=True))

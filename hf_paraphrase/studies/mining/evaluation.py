"""The recipe of the verb `evaluate-mining`: what candidates, scores and decisions are worth where pairs are known."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
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
from .collections import mined_curve, read_gold_ids
from .measures import Curve
from .report import folders_table, outcome_table, random_table, recall_table, write_curves
from .run import CandidateSettings, EncoderFolders, MiningRun, ScoreOptions, check_models
from .scoring import MARGINS
from .task import TaskPart, curve_of, gold_ranks, random_pair_curve, recall_rows

T = TypeVar("T")
Curves = dict[str, dict[str, Curve]]
"""Curves by their names, in groups."""
Way = tuple[str, ScoreOptions, bool, float | None]
"""A name, how it scores, whether it matches one to one, and a fixed threshold; None for that of the tuning part."""

_RESULTS = "results.json"
_SIZES = [1, 10, 20, 30, 40, 50, 100, 1000]
_PAPERS_NEGATIVES = 5503
"""Random pairs for every gold pair in the paper: 50 million for 9,086."""


@dataclass(kw_only=True)
class MiningEvaluationSettings(CandidateSettings):
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
    recall_sizes: list[int] = setting(
        "numbers of candidates of a source sentence of the table of recall", _SIZES, at_least=1
    )
    scoring_encoder: list[str] = setting(
        "folders of other encoders that score the candidates, or SOURCE_FOLDER:TARGET_FOLDER",
        [],
        path=True,
    )
    classifier: list[str] = setting("folders of classifiers of parallel sentences", [], path=True)
    margin: str = setting("kind of the margin scores", "ratio", choices=MARGINS)
    fixed_threshold: float = setting("threshold of the rows that are the paper's set-up", 0.99)
    random_negatives: int = setting(
        "random pairs for each true one in the comparison of classifiers that is not on candidates; 0 = leave it out",
        _PAPERS_NEGATIVES,
        at_least=0,
    )
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
        self.scorers()
        self.classifiers()

    def scorers(self) -> dict[str, EncoderFolders]:
        """Returns the encoders that score, by the names of their rows; the first are those of the filter."""
        items = [EncoderFolders.parse(text) for text in self.scoring_encoder]
        names = ["filter", *(item.names for item in items)]
        return _by_names(names, [self.filter_encoders(), *items], "--scoring-encoder")

    def classifiers(self) -> dict[str, str]:
        """Returns the folders of the classifiers by the names of their rows."""
        names = [to_path(folder).resolve().name for folder in self.classifier]
        return _by_names(names, self.classifier, "--classifier")

    def ways(self) -> Iterator[Way]:
        """Lists the ways to score: the set-up of paper 002 first, then the parts of the repair, alone and together."""
        alone: list[tuple[str, ScoreOptions]] = [
            (name, ScoreOptions(classifier=folder)) for name, folder in self.classifiers().items()
        ]
        single = list(alone)
        for name, encoders in self.scorers().items():
            single.append((f"{name} cosine", ScoreOptions(encoders)))
            single.append((f"{name} {self.margin} margin", ScoreOptions(encoders, self.margin, self.neighbours)))
        yield from ((name, options, False, self.fixed_threshold) for name, options in alone)
        for one_to_one in (False, True):
            yield from ((name, options, one_to_one, None) for name, options in single)
        for name, folder in self.classifiers().items():
            for other, encoders in self.scorers().items():
                both = ScoreOptions(encoders, self.margin, self.neighbours, folder)
                yield f"{name} × {other} {self.margin} margin", both, True, None


def _by_names(names: Sequence[str], items: Sequence[T], flag: str) -> dict[str, T]:
    repeated = [name for name in dict.fromkeys(names) if names.count(name) > 1]
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
        return _evaluation(settings, _measure_folders(settings)[0])
    if not settings.resume:
        check_early(settings.output, overwrite=settings.overwrite)
    check_plots()
    parts: list[TaskPart] = []
    inputs = [*settings.pairs, *([settings.gold] if settings.gold else [])]
    if settings.task is not None:
        scorers, classifiers = list(settings.scorers().values()), list(settings.classifiers().values())
        check_models(scorers, classifiers, settings.device)
        parts = [TaskPart.read(settings.task, name) for name in (settings.tuning_part, settings.test_part)]
        inputs += [str(path) for part in parts for path in part.files]
        inputs += [*(folder for item in scorers for folder in item.folders), *classifiers]
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
            return _evaluation(settings, read_json_object(artefact.target / _RESULTS))
        if parts:
            results, curves = _study(settings, parts[0], parts[1], artefact.checkpoint("work"))
        else:
            results, curves = _measure_folders(settings)
        evaluation = _evaluation(settings, results)
        _write_report(artefact, settings, evaluation, curves)
    log(f"report: {settings.output}")
    return evaluation


def _measure_folders(settings: MiningEvaluationSettings) -> tuple[dict[str, Any], Curves]:
    gold = read_gold_ids(Path(str(settings.gold)))
    curves = {path: mined_curve(path, gold) for path in dict.fromkeys(settings.pairs)}
    results = {
        path: {
            "all": curve.at(),
            "best": curve.best(),
            "best_threshold": curve.best_threshold() if len(curve) else None,
        }
        for path, curve in curves.items()
    }
    return results, {"candidates": curves}


def _study(
    settings: MiningEvaluationSettings, tuning_part: TaskPart, test_part: TaskPart, work: Path
) -> tuple[dict[str, Any], Curves]:
    tuning_run, test_run = (
        MiningRun(
            (part.source, part.target),
            settings.filter_encoders(),
            work / role,
            candidates=settings.candidates,
            batch_size=settings.batch_size,
            device=settings.device,
        )
        for role, part in (("tuning", tuning_part), ("test", test_part))
    )
    sizes = settings.recall_sizes
    recall = {}
    for name, encoders in settings.scorers().items():
        source, target = test_run.sides(encoders)
        ranks = gold_ranks(source.vectors, target.vectors, test_part.gold, sizes[-1])
        label = f"the filter ({encoders.names})" if name == "filter" else name
        recall[label] = recall_rows(ranks, len(test_part.source), len(test_part.target), sizes)
    curves: Curves = {"candidates": {}, "random_pairs": {}}
    random_pairs = {}
    for name, folder in settings.classifiers().items() if settings.random_negatives else ():
        tuning, test = (
            random_pair_curve(part, run, folder, settings.random_negatives, settings.seed)
            for part, run in ((tuning_part, tuning_run), (test_part, test_run))
        )
        threshold = tuning.best_threshold()
        best = {"best_threshold": test.best_threshold(), "best": test.best()}
        random_pairs[name] = {"threshold": threshold, **test.at(threshold), **best}
        curves["random_pairs"][name] = test
    outcomes = []
    for name, options, one_to_one, fixed in settings.ways():
        tuning, test = (
            curve_of(run, part.gold, run.scores(options), one_to_one)
            for part, run in ((tuning_part, tuning_run), (test_part, test_run))
        )
        threshold = tuning.best_threshold() if fixed is None else fixed
        outcomes.append(
            {
                "score": name,
                "one_to_one": one_to_one,
                "threshold": threshold,
                "threshold_is": "tuned" if fixed is None else "fixed",
                "tuning": tuning.at(threshold),
                "test": test.at(threshold),
            }
        )
        curves["candidates"][name + (", one-to-one" if one_to_one else "")] = test
    results = {
        "parts": {
            role: {
                "name": name,
                "sources": len(part.source),
                "targets": len(part.target),
                "gold": len(part.gold),
                "candidates": len(run.pairs),
            }
            for role, name, part, run in (
                ("tuning", settings.tuning_part, tuning_part, tuning_run),
                ("test", settings.test_part, test_part, test_run),
            )
        },
        "recall": recall,
        "random_pairs": random_pairs,
        "candidates": outcomes,
    }
    return results, curves


def _evaluation(settings: MiningEvaluationSettings, results: dict[str, Any]) -> MiningEvaluation:
    if settings.pairs:
        return MiningEvaluation(results, {"Measures": folders_table(results)})
    tables = {f"Recall of the candidates of {name}": recall_table(rows) for name, rows in results["recall"].items()}
    if results["random_pairs"]:
        title = f"True pairs among {settings.random_negatives:,} random ones each"
        tables[title] = random_table(results["random_pairs"])
    tables[f"True pairs among the {settings.candidates} best candidates"] = outcome_table(results["candidates"])
    return MiningEvaluation(results, tables)


def _write_report(
    artefact: Artefact, settings: MiningEvaluationSettings, evaluation: MiningEvaluation, curves: Mapping[str, Any]
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
        "neighbours": settings.neighbours,
    }
    artefact.finish(results={"tables": list(evaluation.tables)}, card=Card("mining_report", card, report=True))

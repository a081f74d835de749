"""The command `evaluate-mining`: measures candidates, scores and decisions on a task with known pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...artefacts.artefact import Artefact, Card
from ...artefacts.files import read_json_object, write_json
from ...artefacts.fsspec_path import to_path
from ...classification.parallel_classifier import ParallelClassifier
from ...errors import UsageError
from ...messages import log
from ...mining.candidates import FILTER, CandidateSettings, MiningRun, open_pair
from ...mining.collections import TaskPart
from ...mining.scores import Curve
from ...settings import recipe, setting
from ...tables import format_table, short_names
from ...vectors.exact_search import find_nearest
from ..report import Report

Curves = dict[str, dict[str, Curve]]
"""Curves by their names, in groups."""
Scores = dict[str, NDArray[np.float64]]
"""Scores of candidates (pairs,) by their names."""

_RESULTS = "results.json"
_PARTS = {"tuning": "training", "test": "test"}
_SIZES = (1, 10, 20, 30, 40, 50, 100, 1000)
"""Candidates per sentence in table 1 of the paper."""
_PAPERS_THRESHOLD = 0.99
_PAPERS_NEGATIVES = 5503
"""Random pairs for every gold pair in the paper: 50 million for 9,086."""
_PAIRS_AT_A_TIME = 1 << 20
_SHARES = ["precision (%)", "recall (%)", "F1 (%)"]


@dataclass(kw_only=True)
class MiningEvaluationSettings(CandidateSettings):
    """Measure every score and decision of `mine` on a task with known pairs (Grégoire and Langlais 2017)."""

    task: str = setting("prefix of the files of a task: task/fr-en for task/fr-en.test.fr, .en and .gold", prefix=True)
    output: str = setting("report folder, with tables, curves as TSV, and results.json")
    scoring_encoder: list[str] = setting("other encoders, of both languages, that score candidates", [], path=True)
    classifier: list[str] = setting("folders of classifiers of parallel sentences", [], path=True)
    random_negatives: int = setting(
        "random pairs per true pair, to compare classifiers on; 0: no comparison", _PAPERS_NEGATIVES, at_least=0
    )
    resume: bool = setting("continue an incomplete run of the same command", False)
    overwrite: bool = setting("replace an existing output folder", False)

    def check(self) -> None:
        """Check that the settings are valid."""
        super().check()
        if FILTER in short_names(self.scoring_encoder or ["-"]):
            raise UsageError(f"--scoring-encoder: `{FILTER}` is the name of another row", remedy="rename the folder")


@recipe(MiningEvaluationSettings)
def evaluate_mining(settings: MiningEvaluationSettings) -> dict[str, Any]:
    """Measure candidates, scores and decisions of `mine` on a task with known pairs.

    Returns:
        The numbers of `results.json`.
    """
    # Thresholds are chosen on the part training, and everything is measured on the part test.
    parts = {role: TaskPart.of_task(settings.task, name) for role, name in _PARTS.items()}
    inputs = [str(path) for part in parts.values() for path in part.files]
    inputs += dict.fromkeys([*settings.encoder_names(), *settings.scoring_encoder, *settings.classifier])
    with Artefact(
        settings.output,
        command="evaluate-mining",
        settings=settings,
        inputs=inputs,
        free=["device"],
    ) as artefact:
        if artefact.finished:
            return read_json_object(artefact.target / _RESULTS)
        encoders = {FILTER: open_pair(settings.encoder_names(), settings.device)}
        for name, folder in _named(settings.scoring_encoder).items():
            encoders[name] = open_pair([folder], settings.device)
        classifiers = {
            name: ParallelClassifier.from_pretrained(folder, device=settings.device)
            for name, folder in _named(settings.classifier).items()
        }
        work = artefact.checkpoint("work")
        runs: dict[str, MiningRun] = {}
        sizes: dict[str, dict[str, int]] = {}
        for role, part in parts.items():
            run = runs[role] = MiningRun(part.source, part.target, encoders, work / role, settings, classifiers)
            sizes[role] = {"sources": len(part.source), "targets": len(part.target), "gold": len(part.gold)}
            sizes[role]["candidates"] = len(run.source_rows)
        golds = [part.gold for part in parts.values()]
        measured, curves = _study(settings, list(runs.values()), golds, list(classifiers))
        results = {"parts": sizes, **measured}
        _write_report(artefact, settings, results, curves)
    log(f"report: {settings.output}")
    return results


def _named(folders: Sequence[str]) -> dict[str, str]:
    """Return folders by the names of their table rows."""
    return dict(zip(short_names(folders), folders, strict=True)) if folders else {}


def _study(
    settings: MiningEvaluationSettings,
    runs: Sequence[MiningRun],
    golds: Sequence[NDArray[np.int64]],
    classifiers: Sequence[str],
) -> tuple[dict[str, Any], Curves]:
    """Choose thresholds on the first of two runs and measure on the second; return the numbers and the curves."""
    recall = {}
    for name, (source, target) in runs[1].vectors.items():
        label = f"the filter ({_name(settings.encoder_names())})" if name == FILTER else name
        recall[label] = recall_rows(gold_ranks(source, target, golds[1]), len(source), len(target))
    curves: Curves = {"candidates": {}, "random_pairs": {}}
    random_pairs = {}
    for name in classifiers if settings.random_negatives else ():
        tuning, test = (
            random_pair_curve(run, gold, name, settings.random_negatives)
            for run, gold in zip(runs, golds, strict=True)
        )
        threshold = tuning.best_threshold()
        best = {"best_threshold": test.best_threshold(), "best": test.best()}
        random_pairs[name] = {"threshold": threshold, **test.at(threshold), **best}
        curves["random_pairs"][name] = test
    outcomes = []
    scores = [_scores(run, classifiers) for run in runs]
    together = [f"{one} × {other} ratio margin" for one in classifiers for other in runs[0].vectors]
    alone = [name for name in scores[0] if name not in together]
    # The settings of the paper first, then each change to them alone, then all together.
    ways = [(name, False, True) for name in classifiers]
    ways += [(name, one_to_one, False) for one_to_one in (False, True) for name in alone]
    for name, one_to_one, is_fixed in [*ways, *((name, True, False) for name in together)]:
        tuning, test = (
            run.curve(gold, of_part[name], one_to_one) for run, gold, of_part in zip(runs, golds, scores, strict=True)
        )
        threshold = _PAPERS_THRESHOLD if is_fixed else tuning.best_threshold()
        outcomes.append(
            {
                "score": name,
                "one_to_one": one_to_one,
                "threshold": threshold,
                "threshold_is": "fixed" if is_fixed else "tuned",
                "tuning": tuning.at(threshold),
                "test": test.at(threshold),
            }
        )
        curves["candidates"][name + (", one-to-one" if one_to_one else "")] = test
    return {"recall": recall, "random_pairs": random_pairs, "candidates": outcomes}, curves


def _name(encoders: Sequence[str]) -> str:
    """Name two encoders after the folder that contains both."""
    one, *others = (Path(folder).resolve() for folder in encoders)
    return one.parent.name if others and one.parent == others[0].parent else one.name


def _scores(run: MiningRun, classifiers: Sequence[str]) -> Scores:
    """Compute the scores of each classifier, each encoder and their products."""
    scores = {name: run.probabilities(name) for name in classifiers}
    for name in run.vectors:
        scores[f"{name} cosine"] = run.cosines(name)
        scores[f"{name} ratio margin"] = margins = run.margins(encoders=name)
        scores |= {f"{other} × {name} ratio margin": np.maximum(margins, 0) * scores[other] for other in classifiers}
    return scores


def gold_ranks(source: NDArray[np.float32], target: NDArray[np.float32], gold: NDArray[np.int64]) -> NDArray[np.int64]:
    """Find the rank of each gold target among the candidates of its source (gold,), from 1; 1,001 for any lower rank.

    Sentences without a vector are no candidates and have none.
    """
    rows, query_rows = np.unique(gold[:, 0], return_inverse=True)
    target_rows, _ = find_nearest(source[rows], target, _SIZES[-1], skip_zero=True)
    ranks = np.full(len(gold), _SIZES[-1] + 1, np.int64)
    pair, rank = np.nonzero(target_rows[query_rows.reshape(-1)] == gold[:, 1:])
    ranks[pair] = rank + 1
    return ranks


def recall_rows(ranks: NDArray[np.int64], sources: int, targets: int) -> list[dict[str, int | float]]:
    """Compute table 1 of the paper from the ranks of the gold pairs (gold,); `share` is in per cent."""
    rows: list[dict[str, int | float]] = []
    for size in _SIZES:
        hits = int((ranks <= size).sum())
        share = 100 * hits / max(1, len(ranks))
        rows.append({"n": size, "found": hits, "share": share, "pairs": sources * min(size, targets)})
    return rows


def random_pair_curve(run: MiningRun, gold: NDArray[np.int64], classifier: str, negatives: int) -> Curve:
    """Score the gold pairs and `negatives` random pairs for each of them."""
    random = np.random.default_rng(0)
    scores = [run.probabilities(classifier, (gold[:, 0], gold[:, 1]))]
    total = negatives * len(gold)
    for start in range(0, total, _PAIRS_AT_A_TIME):
        size = min(total - start, _PAIRS_AT_A_TIME)
        source = random.integers(len(run.source), size=size)
        target = random.integers(len(run.target), size=size)
        wrong = ~run.are_gold(source, target, gold)
        scores.append(run.probabilities(classifier, (source[wrong], target[wrong])))
    right = np.arange(sum(map(len, scores))) < len(gold)
    return Curve.of(np.concatenate(scores), right, len(gold))


def _write_report(
    artefact: Artefact, settings: MiningEvaluationSettings, results: dict[str, Any], curves: Curves
) -> None:
    report = Report(artefact, "mining_report")
    columns = {"threshold": ".9g", "precision": ".6f", "recall": ".6f", "f1": ".6f", "found": "d", "right": "d"}
    for group, of_group in curves.items():
        for row, curve in of_group.items():
            # The name of a row has a slash if two folders have equal names.
            name = row.replace("%", "%25").replace("/", "%2F")
            points = ([format(point[key], how) for key, how in columns.items()] for point in curve.points())
            report.table(f"curves/{group}/{name}", list(columns), points)
    write_json(artefact.staging / _RESULTS, results)
    card = {
        "title": to_path(settings.task).name,
        "parts": results["parts"],
        "names": _PARTS,
        "tables": task_tables(results),
        "fixed_threshold": _PAPERS_THRESHOLD,
        "neighbours": settings.neighbours,
        "candidates": settings.candidates,
        "random_negatives": settings.random_negatives,
    }
    artefact.finish(results={"parts": results["parts"]}, card=Card("mining_report", card, report=True))


def task_tables(results: Mapping[str, Any]) -> dict[str, str]:
    """Format the numbers of a task as tables 1 to 3 of Grégoire and Langlais 2017, by their titles."""
    tables = {}
    for name, recall in results["recall"].items():
        rows = [[str(row["n"]), f"{row['found']:,}", f"{row['share']:.2f}", f"{row['pairs']:,}"] for row in recall]
        tables[f"Recall of the candidates of {name}"] = format_table(["n", "found", "found (%)", "pairs"], rows)
    if results["random_pairs"]:
        rows = [
            [name, f"{outcome['threshold']:.4g}", *_percent(outcome), f"{100 * outcome['best']['f1']:.2f}"]
            for name, outcome in results["random_pairs"].items()
        ]
        header = ["classifier", "threshold", *_SHARES, "best F1 (%)"]
        tables["True pairs among random ones"] = format_table(header, rows)
    rows = [
        [
            outcome["score"] + (", one-to-one" if outcome["one_to_one"] else ""),
            f"{outcome['threshold']:.4g} ({outcome['threshold_is']})",
            *_percent(outcome["test"]),
            f"{100 * outcome['tuning']['f1']:.2f}",
        ]
        for outcome in results["candidates"]
    ]
    header = ["score", "threshold", *_SHARES, "F1 (%), tuning part"]
    return tables | {"True pairs among the candidates": format_table(header, rows)}


def measures_table(threshold: float | None, measures: Mapping[str, Any]) -> str:
    """Format the measures of the pairs of one threshold; None is for all pairs."""
    counts = [str(measures[name]) for name in ("found", "right", "gold")]
    cells = ["–" if threshold is None else f"{threshold:.6g}", *_percent(measures), *counts]
    return format_table(["threshold", *_SHARES, "found", "right", "gold"], [cells])


def _percent(measures: Mapping[str, Any]) -> list[str]:
    return [f"{100 * measures[name]:.2f}" for name in ("precision", "recall", "f1")]

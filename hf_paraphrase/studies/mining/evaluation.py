"""The recipe of the verb `evaluate-mining`: what candidates, scores and decisions are worth where pairs are known."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...artefacts.artefact import Artefact, Card, check_early
from ...artefacts.files import read_json_object, write_text_whole
from ...artefacts.remote_paths import to_path
from ...encoders.search.nearest_neighbours import nearest_neighbours
from ...encoders.search.vector_file import VectorFile
from ...errors import UsageError
from ...evaluation.figures import check_plots
from ...messages import log
from ...settings import flag, is_given, recipe, setting
from ...tables import short_names
from .collections import TaskPart, mined_curve, read_gold_ids
from .measures import Curve
from .report import task_tables, write_curves
from .run import CandidateSettings, EncoderPair, MiningRun, check_models, product

Curves = dict[str, dict[str, Curve]]
"""Curves by their names, in groups."""
Scores = dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]]
"""By the name of a score those of the candidates (pairs,) of the tuning and of the test part."""

_RESULTS = "results.json"
_SIZES = (1, 10, 20, 30, 40, 50, 100, 1000)
"""Numbers of candidates in table 1 of the paper."""
_PAPERS_THRESHOLD = 0.99
_PAPERS_NEGATIVES = 5503
"""Random pairs for every gold pair in the paper: 50 million for 9,086."""
_PAIRS_AT_A_TIME = 1 << 20
_OF_A_TASK = (
    *("encoder", "source_encoder", "target_encoder", "candidates", "neighbours", "scoring_encoder", "classifier"),
    *("random_negatives", "resume"),
)
"""The settings that a table of `--pairs` has no use for."""


@dataclass(kw_only=True)
class MiningEvaluationSettings(CandidateSettings):
    """Measure mining. Folders that `mine` made: --pairs A B --gold FILE. A study of a whole task: --task DIR/fr-en."""

    pairs: list[str] = setting(
        "folders that `mine` made, each a row of the table", [], only_with="gold", excludes="task", path=True
    )
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
    scoring_encoder: list[str] = setting(
        "folders of other encoders, of both languages, that score the candidates", [], path=True
    )
    classifier: list[str] = setting("folders of classifiers of parallel sentences", [], path=True)
    random_negatives: int = setting(
        "random pairs for each true one in the comparison of classifiers that is not on candidates; 0 = leave it out",
        _PAPERS_NEGATIVES,
        at_least=0,
    )
    output: str | None = setting(
        "with --task: report folder, with tables, curves as TSV, PNG and SVG (needs matplotlib), and results.json",
        None,
        only_with="task",
    )
    resume: bool = setting("continue an incomplete run of the same command", False)
    overwrite: bool = setting("replace an existing output folder", False)

    def check(self) -> None:
        """Checks that the settings are valid."""
        super().check()
        if self.task is None:
            if not self.pairs:
                raise UsageError("nothing to measure", remedy="give either --pairs with --gold, or --task")
            for name in _OF_A_TASK:
                if is_given(self, name):
                    raise UsageError(f"{flag(name)} is for --task", remedy="leave it out")
            return
        if self.output is None:
            raise UsageError("--task needs --output", remedy="name a folder for the report")
        self.scorers()

    def scorers(self) -> dict[str, EncoderPair]:
        """Returns the encoders that score, by the names of their rows; the first are those of the filter."""
        filter_pair = self.filter_pair()
        names = short_names(self.scoring_encoder) if self.scoring_encoder else []
        if "filter" in names:
            raise UsageError("--scoring-encoder: `filter` is the name of another row", remedy="rename the folder")
        pairs = ((folder, folder) for folder in self.scoring_encoder)
        return {"filter": filter_pair, **dict(zip(names, pairs, strict=True))}

    def classifiers(self) -> dict[str, str]:
        """Returns the folders of the classifiers by the names of their rows."""
        return dict(zip(short_names(self.classifier), self.classifier, strict=True)) if self.classifier else {}


@recipe(MiningEvaluationSettings)
def evaluate_mining(settings: MiningEvaluationSettings) -> dict[str, Any]:
    """Measures pairs that `mine` wrote, or what candidates, scores and decisions are worth on a task (paper 002).

    Returns:
        The measures by the names of the folders, or the numbers of `results.json`.
    """
    if settings.task is None or settings.output is None:
        gold = read_gold_ids(Path(str(settings.gold)))
        return {path: _both_measures(mined_curve(path, set(gold))) for path in settings.pairs}
    if not settings.resume:
        check_early(settings.output, overwrite=settings.overwrite)
    check_plots()
    scorers, classifiers = list(settings.scorers().values()), list(settings.classifiers().values())
    check_models(scorers, classifiers, settings.device)
    parts = [TaskPart.of_task(settings.task, name) for name in (settings.tuning_part, settings.test_part)]
    inputs = [str(path) for part in parts for path in part.files]
    inputs += [*dict.fromkeys(folder for pair in scorers for folder in pair), *classifiers]
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
            return read_json_object(artefact.target / _RESULTS)
        results, curves = _study(settings, parts[0], parts[1], artefact.checkpoint("work"))
        _write_report(artefact, settings, results, curves)
    log(f"report: {settings.output}")
    return results


def _both_measures(curve: Curve) -> dict[str, Any]:
    best_threshold = curve.best_threshold() if len(curve) else None
    return {"all": curve.at(), "best": curve.best(), "best_threshold": best_threshold}


def _study(
    settings: MiningEvaluationSettings, tuning_part: TaskPart, test_part: TaskPart, work: Path
) -> tuple[dict[str, Any], Curves]:
    scorers, classifiers = settings.scorers(), settings.classifiers()
    roles = {"tuning": tuning_part, "test": test_part}
    runs = [settings.run(part.source, part.target, work / role) for role, part in roles.items()]
    recall = {}
    for name, encoders in scorers.items():
        source, target = runs[1].vectors(encoders)
        label = f"the filter ({_name(encoders)})" if name == "filter" else name
        recall[label] = recall_rows(gold_ranks(source, target, test_part.gold), len(source), len(target))
    golds = tuning_part.gold, test_part.gold
    curves: Curves = {"candidates": {}, "random_pairs": {}}
    random_pairs = {}
    for name, folder in classifiers.items() if settings.random_negatives else ():
        tuning, test = (
            random_pair_curve(run, gold, folder, settings.random_negatives)
            for run, gold in zip(runs, golds, strict=True)
        )
        threshold = tuning.best_threshold()
        best = {"best_threshold": test.best_threshold(), "best": test.best()}
        random_pairs[name] = {"threshold": threshold, **test.at(threshold), **best}
        curves["random_pairs"][name] = test
    outcomes = []
    alone, together = _scores(runs, scorers, classifiers)
    # The set-up of the paper first, then the parts of the repair, alone and together.
    ways = [(name, alone[name], False, True) for name in classifiers]
    ways += [(name, scores, one_to_one, False) for one_to_one in (False, True) for name, scores in alone.items()]
    ways += [(name, scores, True, False) for name, scores in together.items()]
    for name, scores, one_to_one, is_fixed in ways:
        tuning, test = (
            run.curve(gold, of_part, one_to_one) for run, gold, of_part in zip(runs, golds, scores, strict=True)
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
    parts = {
        role: {
            "sources": len(part.source),
            "targets": len(part.target),
            "gold": len(part.gold),
            "candidates": len(run.pairs),
        }
        for (role, part), run in zip(roles.items(), runs, strict=True)
    }
    return {"parts": parts, "recall": recall, "random_pairs": random_pairs, "candidates": outcomes}, curves


def _name(encoders: EncoderPair) -> str:
    """Names two encoders after the folder that contains both."""
    one, two = (Path(folder).resolve() for folder in encoders)
    return one.name if one == two or one.parent != two.parent else one.parent.name


def _scores(
    runs: Sequence[MiningRun], scorers: dict[str, EncoderPair], classifiers: dict[str, str]
) -> tuple[Scores, Scores]:
    """Computes the scores of classifiers and encoders, and those of each two together."""
    tuning, test = runs
    alone: Scores = {}
    for name, folder in classifiers.items():
        alone[name] = tuning.probabilities(folder), test.probabilities(folder)
    for name, encoders in scorers.items():
        alone[f"{name} cosine"] = tuning.cosines(encoders), test.cosines(encoders)
        alone[f"{name} ratio margin"] = tuning.margins(encoders=encoders), test.margins(encoders=encoders)
    together: Scores = {}
    for name in classifiers:
        for margin in (f"{scorer} ratio margin" for scorer in scorers):
            of_tuning, of_test = (product(*both) for both in zip(alone[margin], alone[name], strict=True))
            together[f"{name} × {margin}"] = of_tuning, of_test
    return alone, together


def gold_ranks(source: VectorFile, target: VectorFile, gold: NDArray[np.int64]) -> NDArray[np.int64]:
    """Finds at which rank of the candidates of its source each gold target is.

    Only the sources of gold pairs are compared with all targets, so this is cheap.

    Returns:
        The rank of each (gold,), int64, from 1; 1,001 where it is lower. A sentence without a vector has no
        candidates and is none.
    """
    rows, place = np.unique(gold[:, 0], return_inverse=True)
    target_rows, _ = nearest_neighbours(source.take(rows), target, _SIZES[-1], skip_zero=True)
    ranks = np.full(len(gold), _SIZES[-1] + 1, np.int64)
    pair, rank = np.nonzero(target_rows[place.reshape(-1)] == gold[:, 1:])
    ranks[pair] = rank + 1
    return ranks


def recall_rows(ranks: NDArray[np.int64], sources: int, targets: int) -> list[dict[str, int | float]]:
    """Computes table 1 of the paper from the ranks of the gold pairs (gold,).

    Returns:
        For each number of candidates `n` the gold pairs that are `found`, their `share` in per cent, and the number
        of `pairs`.
    """
    rows: list[dict[str, int | float]] = []
    for size in _SIZES:
        found = int((ranks <= size).sum())
        share = 100 * found / max(1, len(ranks))
        rows.append({"n": size, "found": found, "share": share, "pairs": sources * min(size, targets)})
    return rows


def random_pair_curve(run: MiningRun, gold: NDArray[np.int64], classifier: str, negatives: int) -> Curve:
    """Scores the gold pairs, and for each of them so many random pairs of the two collections."""
    random = np.random.default_rng(0)
    scores = [run.probabilities(classifier, gold[:, 0], gold[:, 1])]
    total = negatives * len(gold)
    for start in range(0, total, _PAIRS_AT_A_TIME):
        size = min(total - start, _PAIRS_AT_A_TIME)
        source = random.integers(len(run.source), size=size)
        target = random.integers(len(run.target), size=size)
        wrong = ~run.are_gold(source, target, gold)
        scores.append(run.probabilities(classifier, source[wrong], target[wrong]))
    right = np.arange(sum(map(len, scores))) < len(gold)
    return Curve.of(np.concatenate(scores), right, len(gold))


def _write_report(
    artefact: Artefact, settings: MiningEvaluationSettings, results: dict[str, Any], curves: Curves
) -> None:
    for group, of_group in curves.items():
        write_curves(artefact.staging, group, of_group)
    text = json.dumps(results, indent=2, ensure_ascii=False, allow_nan=False)
    write_text_whole(artefact.staging / _RESULTS, text + "\n")
    card = {
        "title": to_path(str(settings.task)).name,
        "parts": results["parts"],
        "names": {"tuning": settings.tuning_part, "test": settings.test_part},
        "tables": task_tables(results),
        "plots": [group for group, of_group in curves.items() if of_group],
        "fixed_threshold": _PAPERS_THRESHOLD,
        "neighbours": settings.neighbours,
        "candidates": settings.candidates,
        "random_negatives": settings.random_negatives,
    }
    artefact.finish(results={"parts": results["parts"]}, card=Card("mining_report", card, report=True))

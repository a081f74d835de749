"""Evaluate the encoders of a study: predictions on the test rows, and measures of them with bootstrap replicates.

`measured` of a design lists the evaluation data, and the columns of its tables name the measures:

* `sts: DIR`: the STS sets. A column `{sts: [STS12, STS13 OnWN]}` is the mean of Pearson's r over sets and families;
  `{length: [1, 8]}` is r over the pairs of STS 2012 and 2013 with 1 to 8 words per sentence.
* `graded: {NAME: DIR}`: data folders with scores; the split is test. A column `{sts: [graded NAME]}` is r.
* `detection: {data: DIR, split: NAME, positive_above: SCORE}`: labelled pairs. `{detection: AP}` is the average
  precision of the cosine. `{detection: perceptron}` is the accuracy of perceptrons on the two vectors by
  cross-validation with five folds that share no sentence. `{step: [0, 0.2]}` is the mean cosine of pairs with the
  score 0.2 minus the mean cosine of pairs with the score 0 (Sjöblom et al. 2018, figure 2).
* `predicted: {DATA: {data: DIR, split: NAME, column: NAME}}`: test rows of models of `train-supervised`, by the data
  of the cell. `{predicted: all}` is the accuracy, or r for scores.
* `transfer: {data: DIR, tasks: [MR]}`: SentEval's tasks. `{transfer: [MR]}` is the mean accuracy; intervals cover the
  seeds only.
* `neighbours: {text: FILE}`: see `neighbours.py`. `{neighbours: NAME}` is the mean of a measure over all queries.
* `mined: true`: reports of `evaluate-mining`; a model is one of their scores (see `read_report`). `{mined: f1}` is F1
  of its pairs, `{mined: 40}` the fraction of gold pairs among the 40 best candidates.
* `{result: test.accuracy}` is a number in the `results` of the training command (`provenance.json`); intervals cover
  the seeds only.

In detection and prediction, bootstrap replicates draw pairs that share a sentence together.
"""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from hf_paraphrase import SentenceEncoder, evaluate
from hf_paraphrase.commands import main as run_command
from hf_paraphrase.data.folder import DataFolder
from hf_paraphrase.encoders.dev_sets import pair_sets
from hf_paraphrase.encoders.dev_sets.sts_files import find_sts_sets
from hf_paraphrase.errors import InputError, UsageError
from hf_paraphrase.evaluation.paraphrase import predict_paraphrases
from hf_paraphrase.training.verdicts import bootstrap_means
from hf_paraphrase.vectors.similarity import cosine_similarities
from neighbours import Neighbours
from study_tables import Cell

FOLDS, PERCEPTRONS, REPLICATES = 5, 2, 1000
KINDS = {"sts", "length", "detection", "step", "predicted", "transfer", "neighbours", "mined", "result"}
LENGTH_FAMILIES = ("STS12", "STS13")
Numbers = NDArray[np.float64]
Run = Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class LabelledPairs:
    """Pairs with human labels or scores (n,), and for labels the scores, if they exist (n,)."""

    first: list[str]
    second: list[str]
    gold: Numbers = field(repr=False)
    scores: Numbers = field(repr=False)

    @cached_property
    def counts(self) -> Numbers:
        """The count of each pair in each bootstrap replicate (replicates, n); groups share a sentence."""
        groups = pair_sets.group_sentences(self.first, self.second)
        return draw_replicates(int(groups.max()) + 1)[:, groups]

    def measured(
        self, of: Callable[[Numbers, Numbers, Numbers], Numbers], values: Sequence[Numbers]
    ) -> tuple[Numbers, Numbers]:
        """Compute a measure × 100 of the predictions of each run, on the test rows and in the replicates."""
        once = np.ones((1, len(self.gold)))
        found = [np.stack([of(row, self.gold, counts) for row in values], axis=1) for counts in (once, self.counts)]
        return 100 * found[0][0], 100 * found[1]


def read_labelled_pairs(place: Mapping[str, Any]) -> LabelledPairs:
    """Read rows with human labels in a column; a single text counts as both sentences."""
    table = DataFolder(place["data"]).table(place["split"]).to_pandas()
    if "positive_above" in place:
        table = table[table["score"] != place["positive_above"]].assign(label=table["score"] > place["positive_above"])
    table = table[table[place["column"]].notna()]
    sides = [name for name in ("sentence1", "sentence2", "text") if name in table]
    gold = table["score"] if place["column"] == "score" else table[place["column"]] == 1
    numbers = [np.asarray(column, np.float64) for column in (gold, table.get("score", gold))]
    return LabelledPairs(table[sides[0]].tolist(), table[sides[-1]].tolist(), *numbers)


class Measures:
    """The evaluation data of a study.

    Args:
        places: The field `measured` of the design.
        columns: The columns of all tables.
    """

    def __init__(self, places: Mapping[str, Any], columns: Sequence[Mapping[str, Any]]) -> None:
        if unknown := {kind for column in columns for kind in column} - KINDS:
            raise UsageError(f"a column cannot be `{min(unknown)}`", remedy=f"one of {', '.join(sorted(KINDS))}")
        self.places = places
        self.sets: list[pair_sets.GradedSet] = list(find_sts_sets(places["sts"]).sets) if "sts" in places else []
        for low, high in [column["length"] for column in columns if "length" in column]:
            self.sets.append(join_sets_by_length(self.sets, low, high))
        for name, folder in places.get("graded", {}).items():
            self.sets.append(replace(pair_sets.read_graded_folder(Path(folder), "test"), name=name))
        self.neighbours = Neighbours(**places["neighbours"]) if "neighbours" in places else None
        for wanted in [column["sts"] for column in columns if "sts" in column]:
            self._sets_of(wanted)

    def predict_test_rows(self, model: Path, results: Mapping[str, Any], data: str, folder: Path) -> dict[str, Any]:
        """Return the predictions of a trained model on all test rows, and the results of its training."""
        found: dict[str, Any] = {}
        if "mined" in self.places:
            results = read_report(model)
        if "transfer" in self.places:
            results = {**results, "transfer": self._transfer(model)}
        if "predicted" in self.places:
            found["predicted"] = self._predicted(model, self.places["predicted"][data], folder / "predicted")
        elif self.sets or self.neighbours or "detection" in self.places:
            encode = SentenceEncoder.from_pretrained(str(model)).encode
            if self.sets:
                found |= {item.key: item.similarities for item in pair_sets.score_with_encoder(encode, self.sets)}
            if "detection" in self.places:
                found |= self._detected(encode)
            if self.neighbours:
                found |= self.neighbours.measure(encode)
        return {**found, "results": json.dumps(results)}

    def measure(self, column: Mapping[str, Any], cell: Cell, runs: Sequence[Run]) -> tuple[Numbers, Numbers | None]:
        """Compute a column for all runs (runs,), and its bootstrap replicates (replicates, runs) if rows exist."""
        ((kind, wanted),) = column.items()
        if kind in ("sts", "length"):
            names = wanted if kind == "sts" else [f"length {wanted[0]} to {wanted[1]}"]
            sets = self._sets_of(names)
            values = [np.stack([run[item.key] for run in runs]) for item in sets]
            gold = [np.asarray(item.scores, np.float64) for item in sets]
            exact = [
                [np.corrcoef(row, scores)[0, 1] for row in rows] for rows, scores in zip(values, gold, strict=True)
            ]
            return 100 * np.mean(exact, axis=0), bootstrap_means(values, gold, replicates=REPLICATES)
        if kind == "detection":
            of, name = (average_precision, "cosine") if wanted == "AP" else (weighted_accuracy, "right")
            return self.detection.measured(of, [run[name] for run in runs])
        if kind == "step":
            low, high = (self._mean_cosines(score, runs) for score in wanted)
            return high[0] - low[0], high[1] - low[1]
        if kind == "predicted":
            place = self.places["predicted"][cell.data]
            pairs, graded = read_labelled_pairs(place), place["column"] == "score"
            return pairs.measured(
                weighted_pearson if graded else weighted_accuracy, [run["predicted"] for run in runs]
            )
        if kind == "neighbours":
            return mean_over_queries(np.stack([run[wanted] for run in runs]))
        noted = [json.loads(str(run["results"])) for run in runs]
        if kind == "mined":
            return measure_score(cell.model, wanted, noted)
        if kind == "transfer":
            return np.array([np.mean([row["transfer"][task] for task in wanted]) for row in noted]), None
        return np.array([number_at(row, wanted) for row in noted]), None

    def _sets_of(self, names: Sequence[str]) -> list[pair_sets.GradedSet]:
        found = [item for item in self.sets if {item.key, item.family} & set(names)]
        if not found:
            raise UsageError(f"there is no set {', '.join(names)}", remedy="look at the folder of the STS sets")
        return found

    @cached_property
    def detection(self) -> LabelledPairs:
        """The labelled pairs."""
        return read_labelled_pairs({"split": "validation", "column": "label", **self.places["detection"]})

    def _detected(self, encode: Callable[[list[str]], Any]) -> dict[str, Numbers]:
        """Return the cosine of each pair, and the fraction of perceptrons that classify it correctly."""
        pairs = self.detection
        first, second = (np.asarray(encode(side)) for side in (pairs.first, pairs.second))
        folds, right = pair_sets.split_into_folds(pairs.first, pairs.second, FOLDS), np.zeros(len(pairs.gold))
        seeds = range(1, PERCEPTRONS + 1)
        for fold in range(FOLDS):
            dev, test = ((first[rows], second[rows]) for rows in (folds != fold, folds == fold))
            called = predict_paraphrases(dev, pairs.gold[folds != fold], test, seeds=seeds)
            right[folds == fold] = (called == (pairs.gold[folds == fold] == 1)).mean(axis=0)
        return {"cosine": cosine_similarities(first, second), "right": right}

    def _mean_cosines(self, score: float, runs: Sequence[Run]) -> tuple[Numbers, Numbers]:
        pairs = self.detection
        chosen = np.isclose(pairs.scores, score).astype(np.float64)
        cosines = np.stack([run["cosine"] for run in runs], axis=1)
        drawn = pairs.counts @ (cosines * chosen[:, None]) / (pairs.counts @ chosen)[:, None]
        return 100 * chosen @ cosines / chosen.sum(), 100 * drawn

    def _predicted(self, model: Path, place: Mapping[str, str], output: Path) -> Numbers:
        """Return the predicted score of each row, or 1 for a correct class and 0 for a wrong one."""
        words = ["predict", "--model", model, "--data", place["data"], "--split", place["split"], "--output", output]
        run_verb(*words, "--target-column", place["column"])
        table = DataFolder(output).table(place["split"])
        predicted, gold = (table.column(name).to_pylist() for name in ("prediction", place["column"]))
        if place["column"] == "score":
            return np.array(predicted, np.float64)
        names = DataFolder(place["data"]).class_names(place["column"], place["split"])
        gold = [names[value] if names and isinstance(value, int) else str(value) for value in gold]
        return np.array([one == other for one, other in zip(predicted, gold, strict=True)], np.float64)

    def _transfer(self, model: Path) -> dict[str, float]:
        """Measure the accuracy on the tasks of SentEval."""
        place = self.places["transfer"]
        tasks = evaluate(suite="senteval", data=[place["data"]], tasks=place["tasks"], model=[str(model)])
        found = tasks.record["results"][0]["tasks"]
        return {item["task"]: float(item["metrics"]["accuracy"]) for item in found}


def number_at(results: Any, path: str) -> float:
    """Return a number in the results of a command by its dotted path."""
    found = results
    for name in path.split("."):
        if not isinstance(found, Mapping) or name not in found:
            known = f"one of {', '.join(found)}" if isinstance(found, Mapping) else f"`{found}` has no names in it"
            raise UsageError(f"the results have no `{path}`", remedy=known)
        found = found[name]
    if not isinstance(found, int | float):
        raise UsageError(f"`{path}` of the results is not a number", remedy="name a number in it")
    return float(found)


def run_verb(*words: object) -> None:
    """Run a command silently, and end the study if it fails."""
    with contextlib.redirect_stdout(io.StringIO()):
        code = run_command(list(map(str, words)))
    if code:
        raise SystemExit(code)


def join_sets_by_length(sets: Sequence[pair_sets.GradedSet], low: int, high: int) -> pair_sets.GradedSet:
    """Combine the pairs of STS 2012 and 2013 whose sentences have between `low` and `high` words on average."""
    rows = [
        (first, second, score)
        for item in sets
        if item.family in LENGTH_FAMILIES
        for first, second, score in zip(item.sentences1, item.sentences2, item.scores, strict=True)
        if low - 1 < (len(first.split()) + len(second.split())) / 2 <= high
    ]
    if len(rows) < 3:
        raise InputError(f"fewer than three pairs have {low} to {high} words")
    first, second, scores = zip(*rows, strict=True)
    return pair_sets.GradedSet(f"{low} to {high}", "length", list(first), list(second), np.array(scores, np.float64))


def mean_over_queries(values: Numbers) -> tuple[Numbers, Numbers]:
    """Compute the means of runs over queries with a value (runs, queries), and their bootstrap replicates."""
    values = values[:, ~np.isnan(values[0])]
    return values.mean(axis=1), draw_replicates(values.shape[1]) @ values.T / values.shape[1]


def draw_replicates(count: int) -> Numbers:
    """Draw `count` elements with replacement and return the count of each element (replicates, count)."""
    drawn = np.random.default_rng(0).multinomial(count, np.full(count, 1 / count), size=REPLICATES)
    return drawn.astype(np.float64)


def average_precision(cosines: Numbers, gold: Numbers, counts: Numbers) -> Numbers:
    """Compute the average precision of pairs with counts (replicates, n); equal cosines are ranked together."""
    order = np.argsort(-cosines, kind="stable")
    last = np.append(np.flatnonzero(np.diff(cosines[order])), len(order) - 1)
    weights = counts[:, order]
    hits = np.cumsum(weights * gold[order], axis=1)[:, last]
    taken = np.cumsum(weights, axis=1)[:, last]
    gained = np.diff(hits, axis=1, prepend=0.0)
    return (gained * hits / np.maximum(taken, 1)).sum(axis=1) / np.maximum(hits[:, -1], 1)


def weighted_pearson(values: Numbers, gold: Numbers, counts: Numbers) -> Numbers:
    """Compute Pearson's r of pairs with counts (replicates, n)."""
    found = np.array([np.cov(values, gold, fweights=times) for times in counts.astype(int)])
    return found[:, 0, 1] / np.sqrt(found[:, 0, 0] * found[:, 1, 1])


def weighted_accuracy(right: Numbers, gold: Numbers, counts: Numbers) -> Numbers:
    """Compute the accuracy of pairs with counts (replicates, n)."""
    return counts @ right / counts.sum(axis=1)


def read_report(folder: Path) -> dict[str, Any]:
    """Read the results of a report by score, in per cent.

    The keys are `NAME, random pairs` (with the best threshold of the tuning set), `NAME, random pairs, best` (with the
    best threshold for these pairs, as in the paper), and `NAME[, one-to-one], tuned` or `fixed` for the candidates of
    the filter. The name of an encoder is the key for its fraction of gold pairs among the n best candidates. In a
    folder that is not named `report`, each key begins with the name of the folder.
    """
    results = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    ways: dict[str, Any] = {
        f"{row['score']}{', one-to-one' if row['one_to_one'] else ''}, {row['threshold_is']}": row["test"]
        for row in results["candidates"]
    }
    for name, found in results["random_pairs"].items():
        ways |= {f"{name}, random pairs": found, f"{name}, random pairs, best": found["best"]}
    ways |= {name: {str(row["n"]): row["share"] for row in rows} for name, rows in results["recall"].items()}
    prefix = "" if folder.name == "report" else f"{folder.name} "
    return {f"{prefix}{way}": found for way, found in ways.items()}


def measure_score(way: str, wanted: str | int, reports: Sequence[Mapping[str, Any]]) -> tuple[Numbers, Numbers | None]:
    """Return a number for one score from the report of each seed, in per cent, and bootstrap replicates of F1.

    Reports contain counts of pairs, not the pairs. The replicates therefore assume that all seeds find the same pairs
    and two scores find independent ones, which makes intervals too wide rather than too narrow.
    """
    if any(way not in report for report in reports):
        raise UsageError(f"the reports have no way `{way}`", remedy=f"one of {', '.join(reports[0])}")
    found = [report[way] for report in reports]
    if isinstance(wanted, int):
        return np.array([row[str(wanted)] for row in found]), None
    values = 100 * np.array([row[wanted] for row in found])
    return values, draw_f1(found, crc32(way.encode())) if wanted == "f1" else None


def draw_f1(found: Sequence[Mapping[str, Any]], seed: int) -> Numbers:
    """Compute bootstrap replicates of F1 × 100 for each seed (replicates, seeds).

    The numbers of correct, false and missed pairs vary by their square roots, equally for all seeds.
    """
    numbers = np.array([[row["right"], row["found"] - row["right"], row["gold"] - row["right"]] for row in found])
    noise = np.random.default_rng(seed).normal(size=(REPLICATES, 1, 3))
    right, false, missed = np.moveaxis(np.maximum(numbers + np.sqrt(numbers) * noise, 0), -1, 0)
    return np.asarray(200 * right / np.maximum(2 * right + false + missed, 1), np.float64)

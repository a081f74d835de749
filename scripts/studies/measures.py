"""What a study measures of an encoder: what it says of each test row, and a measure of that with bootstrap replicates.

`measured` of a design says where the test rows are, and a column what is measured:

* `sts: DIR`: the STS sets. A column `{sts: [STS12, STS13 OnWN]}` is the mean of Pearson's r over sets and families;
  `{length: [1, 8]}` is r over the pairs of STS 2012 and 2013 with so many words a side.
* `graded: {NAME: DIR}`: data folders with scores, split test. A column `{sts: [graded NAME]}` is r.
* `detection: {data: DIR, split: NAME, positive_above: SCORE}`: labelled pairs. `{detection: AP}` is the average
  precision of the cosine, `{detection: perceptron}` the accuracy of perceptrons on the two vectors, each tested on one
  of five folds without a common sentence; `{step: [0, 0.2]}` is by how much the mean cosine grows from the pairs with
  one score of people to those with another (paper 003, figure 2).
* `predicted: {DATA: {data: DIR, split: NAME, column: NAME}}`: rows that a model of `train-supervised` predicts, by the
  data of its cell. `{predicted: all}` is the accuracy, or r of scores.
* `transfer: {data: DIR, tasks: [MR]}`: SentEval's tasks. `{transfer: [MR]}` is the mean accuracy, seeds alone known.
* `neighbours: {text: FILE}`: see `neighbours.py`. `{neighbours: NAME}` is the mean of a measure over the queries.
* `mined: true`: reports of `evaluate-mining`, of which a model is a way to score: see `read_report`. `{mined: f1}` is
  that of its pairs, `{mined: 40}` the share of the gold pairs among so many candidates.
* `{result: test.accuracy}` is a number of the `results` of the verb itself (`provenance.json`), seeds alone known.

Pairs that share a sentence are drawn together in detection and prediction.
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
from hf_paraphrase.artefacts.card_heads import class_names
from hf_paraphrase.commands import main as run_command
from hf_paraphrase.data.folder import DataFolder
from hf_paraphrase.encoders.dev_sets import pair_sets
from hf_paraphrase.encoders.dev_sets.sts_files import find_sts_sets
from hf_paraphrase.errors import InputError, UsageError
from hf_paraphrase.evaluation.pair_classifier import predict_paraphrases
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
class JudgedPairs:
    """Pairs with what people said of each, a class or a score (n,), and perhaps scores beside classes (n,)."""

    first: list[str]
    second: list[str]
    gold: Numbers = field(repr=False)
    scores: Numbers = field(repr=False)

    @cached_property
    def counts(self) -> Numbers:
        """How often each pair is there in each bootstrap replicate (replicates, n): groups that share a sentence."""
        groups = pair_sets.sentence_groups(self.first, self.second)
        return drawn_again(int(groups.max()) + 1)[:, groups]

    def measured(
        self, of: Callable[[Numbers, Numbers, Numbers], Numbers], values: Sequence[Numbers]
    ) -> tuple[Numbers, Numbers]:
        """Computes a measure × 100 of what each run says, as it is and in the replicates."""
        once = np.ones((1, len(self.gold)))
        found = [np.stack([of(row, self.gold, counts) for row in values], axis=1) for counts in (once, self.counts)]
        return 100 * found[0][0], 100 * found[1]


def judged_pairs(place: Mapping[str, Any]) -> JudgedPairs:
    """Reads rows with what people said of them in a column; a single text is both sides."""
    table = DataFolder(place["data"]).table(place["split"]).to_pandas()
    if "positive_above" in place:
        table = table[table["score"] != place["positive_above"]].assign(label=table["score"] > place["positive_above"])
    table = table[table[place["column"]].notna()]
    sides = [name for name in ("sentence1", "sentence2", "text") if name in table]
    gold = table["score"] if place["column"] == "score" else table[place["column"]] == 1
    numbers = [np.asarray(column, np.float64) for column in (gold, table.get("score", gold))]
    return JudgedPairs(table[sides[0]].tolist(), table[sides[-1]].tolist(), *numbers)


class Measures:
    """The test rows of a study.

    Args:
        places: `measured` of the design.
        columns: The columns of all its tables.
    """

    def __init__(self, places: Mapping[str, Any], columns: Sequence[Mapping[str, Any]]) -> None:
        if unknown := {kind for column in columns for kind in column} - KINDS:
            raise UsageError(f"a column cannot be `{min(unknown)}`", remedy=f"one of {', '.join(sorted(KINDS))}")
        self.places = places
        self.sets: list[pair_sets.GradedSet] = list(find_sts_sets(places["sts"]).sets) if "sts" in places else []
        for low, high in [column["length"] for column in columns if "length" in column]:
            self.sets.append(of_length(self.sets, low, high))
        for name, folder in places.get("graded", {}).items():
            self.sets.append(replace(pair_sets.read_graded_folder(Path(folder), "test"), name=name))
        self.neighbours = Neighbours(**places["neighbours"]) if "neighbours" in places else None
        for wanted in [column["sts"] for column in columns if "sts" in column]:
            self._sets_of(wanted)

    def said(self, model: Path, results: Mapping[str, Any], data: str, folder: Path) -> dict[str, Any]:
        """Asks a trained model about all test rows; also returns what its training noted."""
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
                found |= self.neighbours.look(encode)
        return {**found, "results": json.dumps(results)}

    def measure(self, column: Mapping[str, Any], cell: Cell, runs: Sequence[Run]) -> tuple[Numbers, Numbers | None]:
        """Computes a column: of runs (runs,), and in bootstrap replicates (replicates, runs) where rows are known."""
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
            of, name = (average_precision, "cosine") if wanted == "AP" else (share, "right")
            return self.detection.measured(of, [run[name] for run in runs])
        if kind == "step":
            low, high = (self._mean_cosines(score, runs) for score in wanted)
            return high[0] - low[0], high[1] - low[1]
        if kind == "predicted":
            place = self.places["predicted"][cell.data]
            pairs, graded = judged_pairs(place), place["column"] == "score"
            return pairs.measured(weighted_pearson if graded else share, [run["predicted"] for run in runs])
        if kind == "neighbours":
            return means_of_queries(np.stack([run[wanted] for run in runs]))
        noted = [json.loads(str(run["results"])) for run in runs]
        if kind == "mined":
            return measured_way(cell.model, wanted, noted)
        if kind == "transfer":
            return np.array([np.mean([row["transfer"][task] for task in wanted]) for row in noted]), None
        return np.array([number_at(row, wanted) for row in noted]), None

    def _sets_of(self, names: Sequence[str]) -> list[pair_sets.GradedSet]:
        found = [item for item in self.sets if {item.key, item.family} & set(names)]
        if not found:
            raise UsageError(f"there is no set {', '.join(names)}", remedy="look at the folder of the STS sets")
        return found

    @cached_property
    def detection(self) -> JudgedPairs:
        """The labelled pairs."""
        return judged_pairs({"split": "validation", "column": "label", **self.places["detection"]})

    def _detected(self, encode: Callable[[list[str]], Any]) -> dict[str, Numbers]:
        """Tells of each pair its cosine, and the share of perceptrons that are right about it."""
        pairs = self.detection
        first, second = (np.asarray(encode(side)) for side in (pairs.first, pairs.second))
        folds, right = pair_sets.sentence_folds(pairs.first, pairs.second, FOLDS), np.zeros(len(pairs.gold))
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
        """Tells of each row the predicted score, or 1 where the class is right and 0 where it is not."""
        words = ["predict", "--model", model, "--data", place["data"], "--split", place["split"], "--output", output]
        run_verb(*words, "--target-column", place["column"])
        table = DataFolder(output).table(place["split"])
        predicted, gold = (table.column(name).to_pylist() for name in ("prediction", place["column"]))
        if place["column"] == "score":
            return np.array(predicted, np.float64)
        names = class_names(place["data"], place["column"], place["split"])
        gold = [names[value] if names and isinstance(value, int) else str(value) for value in gold]
        return np.array([one == other for one, other in zip(predicted, gold, strict=True)], np.float64)

    def _transfer(self, model: Path) -> dict[str, float]:
        """Measures the accuracy on SentEval's tasks."""
        place = self.places["transfer"]
        tasks = evaluate(suite="senteval", data=[place["data"]], tasks=place["tasks"], model=[str(model)])
        found = tasks.record["results"][0]["tasks"]
        return {item["task"]: float(item["metrics"]["accuracy"]) for item in found}


def number_at(results: Any, path: str) -> float:
    """Returns a number of what a verb noted, by the names that lead to it with dots between them."""
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
    """Runs a verb of the command line without what it prints; ends the study where it fails."""
    with contextlib.redirect_stdout(io.StringIO()):
        code = run_command(list(map(str, words)))
    if code:
        raise SystemExit(code)


def of_length(sets: Sequence[pair_sets.GradedSet], low: int, high: int) -> pair_sets.GradedSet:
    """Puts the pairs of the sets of 2012 and 2013 together whose sides have so many words on average."""
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


def means_of_queries(values: Numbers) -> tuple[Numbers, Numbers]:
    """Computes the means of runs over the queries that have a value (runs, queries), as they are and drawn again."""
    values = values[:, ~np.isnan(values[0])]
    return values.mean(axis=1), drawn_again(values.shape[1]) @ values.T / values.shape[1]


def drawn_again(count: int) -> Numbers:
    """Draws from so many things with replacement: how often each is there (replicates, count)."""
    drawn = np.random.default_rng(0).multinomial(count, np.full(count, 1 / count), size=REPLICATES)
    return drawn.astype(np.float64)


def average_precision(cosines: Numbers, gold: Numbers, counts: Numbers) -> Numbers:
    """Computes the average precision of pairs that are there so many times (replicates, n), ties taken together."""
    order = np.argsort(-cosines, kind="stable")
    last = np.append(np.flatnonzero(np.diff(cosines[order])), len(order) - 1)
    weights = counts[:, order]
    hits = np.cumsum(weights * gold[order], axis=1)[:, last]
    taken = np.cumsum(weights, axis=1)[:, last]
    gained = np.diff(hits, axis=1, prepend=0.0)
    return (gained * hits / np.maximum(taken, 1)).sum(axis=1) / np.maximum(hits[:, -1], 1)


def weighted_pearson(values: Numbers, gold: Numbers, counts: Numbers) -> Numbers:
    """Computes Pearson's r of pairs that are there so many times (replicates, n)."""
    found = np.array([np.cov(values, gold, fweights=times) for times in counts.astype(int)])
    return found[:, 0, 1] / np.sqrt(found[:, 0, 0] * found[:, 1, 1])


def share(right: Numbers, gold: Numbers, counts: Numbers) -> Numbers:
    """Computes the share of right pairs, of pairs that are there so many times (replicates, n)."""
    return counts @ right / counts.sum(axis=1)


def read_report(folder: Path) -> dict[str, Any]:
    """Returns what a report found by way, in per cent.

    Among random pairs (`NAME, random pairs`) with the best threshold of the tuning part, or with that which is best
    for the very pairs, as the paper has it (`NAME, random pairs, best`); on the candidates of the filter with a
    threshold that was `tuned` or is `fixed`, and perhaps one-to-one; and of an encoder the share of the gold pairs
    among its n best. In a folder that is not called `report` its name comes before each way.
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


def measured_way(way: str, wanted: str | int, reports: Sequence[Mapping[str, Any]]) -> tuple[Numbers, Numbers | None]:
    """Returns a number of a way in the report of each seed, in per cent, and F1 with the pairs drawn again too.

    The hidden pairs are the same for all seeds and ways, and a report has only numbers of them; drawn again they are
    as if all seeds found the same ones and two ways others, which makes an interval rather too wide.
    """
    if any(way not in report for report in reports):
        raise UsageError(f"the reports have no way `{way}`", remedy=f"one of {', '.join(reports[0])}")
    found = [report[way] for report in reports]
    if isinstance(wanted, int):
        return np.array([row[str(wanted)] for row in found]), None
    values = 100 * np.array([row[wanted] for row in found])
    return values, drawn_f1(found, crc32(way.encode())) if wanted == "f1" else None


def drawn_f1(found: Sequence[Mapping[str, Any]], seed: int) -> Numbers:
    """Computes F1 × 100 of each seed with the pairs drawn again (replicates, seeds).

    F1 depends on how many pairs are right, false and missed. Each number varies by its root, and for all seeds alike.
    """
    numbers = np.array([[row["right"], row["found"] - row["right"], row["gold"] - row["right"]] for row in found])
    noise = np.random.default_rng(seed).normal(size=(REPLICATES, 1, 3))
    right, false, missed = np.moveaxis(np.maximum(numbers + np.sqrt(numbers) * noise, 0), -1, 0)
    return np.asarray(200 * right / np.maximum(2 * right + false + missed, 1), np.float64)

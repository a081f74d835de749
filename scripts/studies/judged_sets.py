"""Judged pairs that encoders of paper 003 are tested on, and what an encoder says of each single pair of them.

* `detection` (tables 2, 3 and 6): pairs of one split, by a perceptron on the two vectors and by the cosine.
* `MSRPC` (table 7): the training part of the Microsoft Research corpus, by SentEval's regression on unit vectors.
* `SICK-R` (table 7): SICK's trial part, by SentEval's regression on the same, which is trained on its train part.
* STS 2012 and 2013 (table 7), by the cosine, without training.

The first two are parted into five folds without a common sentence; each pair is tested once, on what was learnt from
the other folds. Pairs that share a sentence are drawn together when an interval is computed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hf_paraphrase.data.folder import DataFolder
from hf_paraphrase.data.sources.msrp import SCHEMA as MSRP
from hf_paraphrase.data.sources.msrp import MsrpSource
from hf_paraphrase.encoders.vectors import normalized
from hf_paraphrase.evaluation.bootstrap import bootstrap_means
from hf_paraphrase.evaluation.classifiers import best_penalty, fit_classifier, predict_scores
from hf_paraphrase.evaluation.correlation import cosine_similarities, pearson
from hf_paraphrase.evaluation.graded_set import GradedSet
from hf_paraphrase.evaluation.labelled_set import read_labelled_folder, sentence_folds, sentence_groups
from hf_paraphrase.evaluation.pair_classifier import train_pair_classifiers
from hf_paraphrase.evaluation.sts_files import find_sts_sets
from hf_paraphrase.evaluation.transfer.tasks import Examples, find_transfer_tasks, parts_below, read_part

FOLDS = 5
PERCEPTRONS = 2
REPLICATES = 1000
STS_FAMILIES = ("STS12", "STS13")
Numbers = NDArray[np.float64]
Measure = Callable[[Numbers, Numbers, Numbers], Numbers]
Encode = Callable[[Sequence[str]], NDArray[np.float32]]


@dataclass(frozen=True, eq=False)
class JudgedPairs:
    """Pairs with what people said of each, parted into folds.

    Attributes:
        gold: A class or a score for each (n,).
    """

    sentences1: list[str]
    sentences2: list[str]
    gold: Numbers = field(repr=False)

    @cached_property
    def folds(self) -> NDArray[np.int64]:
        """The fold of each pair (n,)."""
        return sentence_folds(self.sentences1, self.sentences2, FOLDS)

    @cached_property
    def counts(self) -> Numbers:
        """How often each pair is there in each bootstrap replicate (replicates, n): groups that share a sentence."""
        groups = sentence_groups(self.sentences1, self.sentences2)
        many = int(groups.max()) + 1
        drawn = np.random.default_rng(0).multinomial(many, np.full(many, 1 / many), size=REPLICATES)
        return drawn[:, groups].astype(np.float64)

    def vectors(self, encode: Encode) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Encodes both sides."""
        return np.asarray(encode(self.sentences1)), np.asarray(encode(self.sentences2))


class JudgedSets:
    """All sets."""

    def __init__(
        self, detection: Path, data: Path, split: str = "validation", positive_above: float | None = None
    ) -> None:
        self._places = detection, data, split
        pairs = read_labelled_folder(detection, split, positive_above)
        self.detection = JudgedPairs(pairs.sentences1, pairs.sentences2, pairs.labels.astype(np.float64))

    @cached_property
    def people(self) -> Numbers:
        """The score that people gave each pair of `detection` with a label (n,)."""
        folder, _, split = self._places
        judged = DataFolder(folder).table(split, ["score", "label"])
        # Those that are undecided have no label.
        return judged.filter(judged.column("label").is_valid()).column("score").to_numpy()

    @cached_property
    def msrp(self) -> JudgedPairs:
        """The pairs of `MSRPC`."""
        folder = self._places[1] / "msrp"
        (part,) = parts_below(MsrpSource(data_dir=str(folder)), folder, MSRP).values()
        msrp = read_part(part)
        first, second = (msrp.column(name).to_pylist() for name in ("sentence1", "sentence2"))
        return JudgedPairs(first, second, msrp.column("label").to_numpy().astype(np.float64))

    @cached_property
    def sick_parts(self) -> Mapping[str, Examples]:
        """The parts of SICK by their names."""
        (protocol,) = find_transfer_tasks(self._places[1], ["SICK-R"], sick_test_on_trial=True).tasks
        return protocol.parts

    @cached_property
    def sick(self) -> JudgedPairs:
        """The pairs of `SICK-R`."""
        test = self.sick_parts["test"]
        first, second = test.sides
        return JudgedPairs(first, second, test.gold)

    @cached_property
    def sts(self) -> list[GradedSet]:
        """The sets of `STS`."""
        return [item for item in find_sts_sets(self._places[1] / "sts").sets if item.family in STS_FAMILIES]

    def detect(self, encode: Encode) -> dict[str, Numbers]:
        """Tells of each pair of `detection` its cosine, and the share of perceptrons that are right about it."""
        first, second = self.detection.vectors(encode)
        gold, folds = self.detection.gold, self.detection.folds
        right = np.zeros(len(gold))
        for fold in range(FOLDS):
            dev, test = folds != fold, folds == fold
            trained = train_pair_classifiers(first[dev], second[dev], gold[dev], seeds=range(1, PERCEPTRONS + 1))
            right[test] = (trained.predict(first[test], second[test]) == (gold[test] == 1)).mean(axis=0)
        return {"cosine": cosine_similarities(first, second), "right": right}

    def transfer(self, encode: Encode) -> dict[str, Numbers]:
        """Returns whether each pair of MSRPC is judged right, each pair's score in SICK, and the cosines in STS."""

        # Steps and penalties of the regressions are of a given size; the vectors of an encoder whose words started at
        # random have a length of 0.05, and its products are lost beside them.
        def unit(texts: Sequence[str]) -> NDArray[np.float32]:
            return normalized(encode(texts))

        found = {"MSRPC": self._classes(unit), "SICK-R": self._scores(unit)}
        for item in self.sts:
            found[item.key] = cosine_similarities(encode(item.sentences1), encode(item.sentences2))
        return found

    def _classes(self, encode: Encode) -> Numbers:
        features, gold, folds = _features(self.msrp, encode), self.msrp.gold.astype(np.int64), self.msrp.folds
        right = np.zeros(len(gold))
        for fold in range(FOLDS):
            rest, test = folds != fold, folds == fold
            penalty, _ = best_penalty(features[rest], gold[rest], FOLDS)
            right[test] = fit_classifier(features[rest], gold[rest], penalty).predict(features[test]) == gold[test]
        return right

    def _scores(self, encode: Encode) -> Numbers:
        parts = self.sick_parts
        features = {name: examples.features(encode) for name, examples in parts.items()}
        return predict_scores(features, {name: examples.gold for name, examples in parts.items()})[0]

    def measure(self, name: str, runs: Sequence[dict[str, Numbers]]) -> tuple[Numbers, Numbers]:
        """Computes a measure × 100 of encoders: as it is (runs,), and in bootstrap replicates (replicates, runs).

        Args:
            name: `perceptron` or `AP` of detection, `MSRPC`, `SICK-R`, or `STS`, the mean r of its sets; or
                `score 0.6`, the mean cosine of the pairs of detection with this score of people.
            runs: What each encoder says of the single pairs.
        """
        if name.startswith("score "):
            chosen = (self.people == float(name.removeprefix("score "))).astype(np.float64)
            cosines = np.stack([run["cosine"] for run in runs], axis=1)
            sums = self.detection.counts @ (cosines * chosen[:, None])
            drawn = sums / (self.detection.counts @ chosen)[:, None]
            return 100 * chosen @ cosines / chosen.sum(), 100 * drawn
        if name == "STS":
            values = [np.stack([run[item.key] for run in runs]) for item in self.sts]
            gold = [np.asarray(item.scores, np.float64) for item in self.sts]
            return _correlations(values, gold), bootstrap_means(values, gold, replicates=REPLICATES)
        rows: dict[str, tuple[JudgedPairs, str, Measure]] = {
            "AP": (self.detection, "cosine", average_precision),
            "perceptron": (self.detection, "right", share),
            "MSRPC": (self.msrp, "MSRPC", share),
            "SICK-R": (self.sick, "SICK-R", weighted_pearson),
        }
        pairs, column, of = rows[name]
        once = np.ones((1, len(pairs.gold)))
        both = [
            np.stack([of(run[column], pairs.gold, counts) for run in runs], axis=1) for counts in (once, pairs.counts)
        ]
        return 100 * both[0][0], 100 * both[1]


def average_precision(cosines: Numbers, gold: Numbers, counts: Numbers) -> Numbers:
    """Computes the average precision of pairs that are there so many times (replicates, n), ties taken together."""
    order = np.argsort(-cosines, kind="stable")
    ordered = cosines[order]
    last = np.append(np.flatnonzero(np.diff(ordered)), len(ordered) - 1)
    weights = counts[:, order]
    hits = np.cumsum(weights * gold[order], axis=1)[:, last]
    taken = np.cumsum(weights, axis=1)[:, last]
    gained = np.diff(hits, axis=1, prepend=0.0)
    return (gained * hits / np.maximum(taken, 1)).sum(axis=1) / np.maximum(hits[:, -1], 1)


def weighted_pearson(values: Numbers, gold: Numbers, counts: Numbers) -> Numbers:
    """Computes Pearson's r of pairs that are there so many times (replicates, n)."""
    weights = counts / counts.sum(axis=1, keepdims=True)
    # Centring changes no correlation and keeps the sums of squares small.
    x, y = values - values.mean(), gold - gold.mean()
    mean_x, mean_y = weights @ x, weights @ y
    covariance = weights @ (x * y) - mean_x * mean_y
    return covariance / np.sqrt((weights @ (x * x) - mean_x**2) * (weights @ (y * y) - mean_y**2))


def share(right: Numbers, gold: Numbers, counts: Numbers) -> Numbers:
    """Computes the share of right pairs, of pairs that are there so many times (replicates, n)."""
    return counts @ right / counts.sum(axis=1)


def _correlations(values: Sequence[Numbers], gold: Sequence[Numbers]) -> Numbers:
    each = [[pearson(row, scores) for row in rows] for rows, scores in zip(values, gold, strict=True)]
    return 100 * np.mean(each, axis=0)


def _features(pairs: JudgedPairs, encode: Encode) -> NDArray[np.float32]:
    first, second = pairs.vectors(encode)
    return np.concatenate([np.abs(first - second), first * second], axis=1)

"""The suite `paraphrase`: how well sentence vectors distinguish paraphrases from other pairs.

With training, as in Sjöblom, Creutz and Aulamo 2018, section 4 (Tables 2, 3, 6 and 9): the accuracy on test of a
perceptron on the two concatenated vectors, trained on the development pairs. Without training, as MTEB reports for
OpusparcusPC: the average precision of the cosine, and its accuracy and F1 at the best threshold. Accuracy and F1 at
the best threshold of the development pairs estimate the results for new pairs.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from tqdm.auto import tqdm

from ..artefacts.card_metadata import Measurement
from ..data.folder import DataFolder
from ..data.pair_rows import find_label
from ..encoders.dev_sets.pair_sets import (
    LabelledSet,
    choose_split,
    encode_once,
    normalize_sentence,
    read_labelled_folder,
    require_both_classes,
    split_into_folds,
)
from ..errors import InputError, UsageError
from ..messages import log
from ..settings import is_given
from ..tables import format_table, number, short_names
from ..vectors.similarity import checked_vectors, cosine_similarities
from .baselines import Scorer
from .suite import NOTHING_TRAINED, Benchmark, Scores, Suite, has_pairs_with, name_folders

if TYPE_CHECKING:
    from .evaluate_settings import EvaluateSettings

PERCEPTRON_NOTE = (
    "accuracy × 100 on test of a perceptron (200 hidden units) on the two concatenated vectors, trained on dev"
)
_PERCEPTRON_TRAINED = "the perceptron was trained on fixed vectors; the cosine needs no training"
_COSINE_NOTE = "average precision, accuracy and F1 of the cosine; fractions from 0 to 1"
HIDDEN = 200
"""Units of the hidden layer of the perceptron."""
Sides = tuple[np.ndarray, np.ndarray]
"""The vectors of the first and the second sentences of pairs, each (pairs, dim)."""
FOLDS = 5
"""Folds that a single split is divided into."""
_AT_BEST = ("average_precision", "accuracy", "accuracy_threshold", "f1", "f1_threshold")
_COLUMNS = {
    "average_precision": "AP",
    "accuracy": "best accuracy",
    "f1": "best F1",
    "accuracy_at_dev": "accuracy at dev's threshold",
    "f1_at_dev": "F1 at dev's",
    "top_1": "top 1",
}
"""Headings of the cosine's measures in the table."""


@dataclass(frozen=True, eq=False)
class DetectionTask:
    """Labelled pairs to develop and to test on, which are splits or folds of the data.

    `folds` has the rows in `pairs` of the development and the test pairs of each fold; two splits are one fold;
    `overlapping` development pairs were left out because they are test pairs too.
    """

    name: str
    pairs: LabelledSet
    folds: tuple[tuple[np.ndarray, np.ndarray], ...] = field(repr=False)
    splits: tuple[str, str]
    overlapping: int = 0

    @property
    def tested(self) -> np.ndarray:
        """The rows of all test pairs, fold by fold (n,)."""
        return np.concatenate([test for _, test in self.folds])

    def facts(self) -> dict[str, Any]:
        """Describe the task as plain values, with the accuracy of calling all pairs paraphrases."""
        labels, tested = self.pairs.labels, self.tested
        dev = np.unique(np.concatenate([dev for dev, _ in self.folds]))
        return {
            "data": self.name,
            "dev_split": self.splits[0],
            "test_split": self.splits[1],
            "folds": len(self.folds),
            "dev": {"pairs": len(dev), "paraphrases": int(labels[dev].sum())},
            "test": {"pairs": len(tested), "paraphrases": int(labels[tested].sum())},
            "undecided": self.pairs.undecided,
            "dev_pairs_in_test": self.overlapping,
            "all_paraphrases": float(labels[tested].mean()),
        }


def read_task(path: Path, *, dev_split: str = "validation", test_split: str = "test") -> DetectionTask:
    """Read the development and test pairs of a file or a data folder.

    Development pairs that are also test pairs, in either order, are left out, so that results on the test split stay
    comparable. If both splits are the same, or the data is a file or a single split, its pairs are divided into five
    folds that share no sentence: each fold is tested once, with the other four as development pairs.
    """
    if path.exists():
        opened = DataFolder(path)
        dev_split = choose_split(opened, dev_split, is_given=dev_split != "validation")
        test_split = choose_split(opened, test_split, is_given=test_split != "test")
    name, splits = path.resolve().name, (dev_split, test_split)
    dev = read_labelled_folder(path, dev_split, is_given=True)
    if dev_split == test_split:
        require_both_classes(dev, path)
        return DetectionTask(name, dev, _make_folds(dev, path), splits)
    test = read_labelled_folder(path, test_split, is_given=True)
    tested = set(test.pair_keys())
    kept = dev.rows(np.array([key not in tested for key in dev.pair_keys()], dtype=bool))
    for part in (test, kept):
        require_both_classes(part, path)
    both = LabelledSet(
        name=name,
        sentences1=kept.sentences1 + test.sentences1,
        sentences2=kept.sentences2 + test.sentences2,
        labels=np.concatenate([kept.labels, test.labels]),
        undecided=dev.undecided + test.undecided,
    )
    rows = np.arange(len(both))
    return DetectionTask(name, both, ((rows[: len(kept)], rows[len(kept) :]),), splits, len(dev) - len(kept))


def evaluate_detection(
    scorer: Scorer, tasks: Sequence[DetectionTask], *, seeds: Sequence[int]
) -> list[dict[str, Any]]:
    """Evaluate a scorer on every task; each distinct sentence of all tasks is encoded once.

    Returns:
        For each task its :meth:`~DetectionTask.facts`; the accuracy of the `perceptron` on test for each seed, or None
        without seeds; and measures of the `cosine` on test, from 0 to 1, at the best threshold of the test and of the
        development pairs. A threshold is None where calling no pair a paraphrase is best.
    """
    pairs = [task.pairs for task in tasks]
    vectors = encode_once(scorer.encode, (text for own in pairs for text in (*own.sentences1, *own.sentences2)))
    results = []
    total = len(seeds) * sum(len(task.folds) for task in tasks)
    with tqdm(total=total, unit=" perceptrons", desc="train", disable=not total) as bar:
        for task in tasks:
            first, second = vectors(task.pairs.sentences1), vectors(task.pairs.sentences2)
            perceptron = _train_perceptrons(task, first, second, seeds, bar) if seeds else None
            if scorer.similarity is None:
                similarities = cosine_similarities(first, second)
            else:
                measured = scorer.similarity(task.pairs.sentences1, task.pairs.sentences2)
                similarities = np.nan_to_num(np.asarray(measured, dtype=np.float64))
            results.append({**task.facts(), "perceptron": perceptron, "cosine": _measure_cosines(task, similarities)})
    return results


def list_detection_measurements(result: Mapping[str, Any]) -> list[Measurement]:
    """List the accuracy of the perceptron, if one was trained, and the measures of the cosine, in per cent."""
    how = {
        "average_precision": "average precision × 100 of the cosine",
        "accuracy": "accuracy (%) of the cosine at the best threshold",
        "f1": "F1 × 100 of the cosine at the best threshold",
    }
    rows = [("sentence-similarity", key, result["cosine"], name) for key, name in how.items()]
    if result["perceptron"] is not None:
        name = "accuracy (%; perceptron on the two vectors, trained on the dev pairs)"
        rows.insert(0, ("text-classification", "accuracy", result["perceptron"], name))
    about = {"dataset": result["data"], "task_name": "Paraphrase detection", "split": result["test_split"]}
    return [
        Measurement(task, metric=key, value=round(100 * values[key], 6), name=name, **about)
        for task, key, values, name in rows
    ]


def compute_top_1(sentences1: Sequence[str], similarities: np.ndarray, labels: np.ndarray) -> float | None:
    """Compute how often the most similar candidate of a sentence is a paraphrase of it.

    The candidates of a sentence are the second sentences of the pairs in which it is the first. If several candidates
    are equally similar, the fraction of paraphrases among them counts.

    Returns:
        A fraction of the distinct first sentences, from 0 to 1; None if some first sentence lacks a paraphrase or a
        candidate that is none.
    """
    candidates: dict[str, list[int]] = {}
    for row, sentence in enumerate(map(normalize_sentence, sentences1)):
        candidates.setdefault(sentence, []).append(row)
    fractions = []
    for rows in candidates.values():
        candidate_similarities = similarities[rows]
        own = labels[rows]
        if own.all() or not own.any():
            return None
        fractions.append(own[candidate_similarities == candidate_similarities.max()].mean())
    return float(np.mean(fractions)) if fractions else None


def _make_folds(pairs: LabelledSet, folder: Path) -> tuple[tuple[np.ndarray, np.ndarray], ...]:
    fold_of = split_into_folds(pairs.sentences1, pairs.sentences2, FOLDS)
    folds = tuple((np.flatnonzero(fold_of != fold), np.flatnonzero(fold_of == fold)) for fold in range(FOLDS))
    if not all(len(test) for _, test in folds):
        problem = f"{pairs.name} cannot be divided into {FOLDS} folds that share no sentence"
        raise InputError(problem, path=folder, remedy="give another --test-split than --dev-split")
    for dev, _ in folds:
        require_both_classes(pairs.rows(np.isin(np.arange(len(pairs)), dev)), folder)
    return folds


def _train_perceptrons(
    task: DetectionTask, first: np.ndarray, second: np.ndarray, seeds: Sequence[int], bar: Any
) -> dict[str, Any]:
    """Compute the accuracy on the test pairs of all folds for each seed."""
    right = np.zeros(len(seeds))
    labels = task.pairs.labels
    for dev, test in task.folds:
        called = predict_paraphrases((first[dev], second[dev]), labels[dev], (first[test], second[test]), seeds=seeds)
        right += (called == (labels[test] == 1)).sum(axis=1)
        bar.update(len(seeds))
    accuracies = right / len(task.tested)
    return {
        "accuracy": float(accuracies.mean()),
        "standard_deviation": float(accuracies.std(ddof=1)) if len(seeds) > 1 else None,
        "accuracies": accuracies.tolist(),
    }


def predict_paraphrases(dev: Sides, labels: np.ndarray, test: Sides, *, seeds: Sequence[int]) -> np.ndarray:
    """Train a perceptron for each seed, which determines its weights, held-out pairs and batches.

    It is the `MLPClassifier` of scikit-learn with a hidden layer of 200 rectified linear units and Adam; Sjöblom et
    al. (2018), section 4, give no further settings. Training stops after ten epochs without a higher accuracy on a
    held-out fifth of the development pairs, and keeps the best weights. Features are standardized.

    Args:
        dev: The vectors (n, dim) of the first and second sentences of the development pairs.
        labels: 1 for a paraphrase, 0 for another pair (n,).
        test: The vectors (m, dim) of the first and second sentences of the test pairs.
        seeds: The seeds.

    Returns:
        Whether each perceptron predicts a paraphrase for each pair of `test`, bool (seeds, m).
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.neural_network import MLPClassifier

    labels = np.asarray(labels).astype(np.int64)
    sides = checked_vectors(np.concatenate(dev), 2 * len(labels)).astype(np.float64)
    mean, deviation = sides.mean(axis=0), sides.std(axis=0)
    constant = deviation <= 1e-12 * max(1e-300, float(np.abs(sides).max(initial=0.0)))
    scale = np.where(constant, 1.0, deviation)
    features, tested = (np.concatenate([(side - mean) / scale for side in pairs], axis=1) for pairs in (dev, test))
    # Fewer pairs cannot be divided.
    holds_out = bool(np.bincount(labels, minlength=2).min() >= 5)
    called = []
    for seed in seeds:
        perceptron = MLPClassifier(
            (HIDDEN,),
            alpha=0.0,
            batch_size=min(64, len(labels)),
            early_stopping=holds_out,
            validation_fraction=0.2,
            n_iter_no_change=10,
            max_iter=200,
            random_state=seed,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            called.append(perceptron.fit(features, labels).predict(tested) > 0)
    return np.stack(called)


def _measure_cosines(task: DetectionTask, similarities: np.ndarray) -> dict[str, float | None]:
    from ..metrics.paraphrase_detection.paraphrase_detection import detection_measures

    labels, tested = task.pairs.labels, task.tested
    measures = detection_measures(similarities[tested], labels[tested])
    cosine = {name: measures[name] for name in _AT_BEST}
    called = {name: np.zeros(len(labels), bool) for name in ("accuracy", "f1")}
    for dev, test in task.folds:
        on_dev = detection_measures(similarities[dev], labels[dev])
        for name, is_called in called.items():
            is_called[test] = similarities[test] >= on_dev[f"{name}_threshold"]
            if len(task.folds) == 1:
                cosine[f"dev_{name}_threshold"] = on_dev[f"{name}_threshold"]
    is_paraphrase = labels[tested] == 1
    by_accuracy, by_f1 = (is_called[tested] for is_called in called.values())
    cosine["accuracy_at_dev"] = float((by_accuracy == is_paraphrase).mean())
    cosine["f1_at_dev"] = 2 * int((by_f1 & is_paraphrase).sum()) / max(1, int(by_f1.sum()) + int(is_paraphrase.sum()))
    first = compute_top_1([task.pairs.sentences1[row] for row in tested], similarities[tested], labels[tested])
    if first is not None:
        cosine["top_1"] = first
    return {name: value if np.isfinite(value) else None for name, value in cosine.items()}


def format_detection(scores: Sequence[Scores]) -> str:
    """Format two tables: the data, with the accuracies of the perceptron if one was trained, and the cosine."""
    names = short_names([each.name for each in scores])
    results = list(zip(*(each.record["tasks"] for each in scores), strict=True))
    seeds = len((results[0][0]["perceptron"] or {"accuracies": ()})["accuracies"])
    spread = f"; mean and standard deviation of {seeds} seeds" if seeds > 1 else ""
    title = f"perceptron: {PERCEPTRON_NOTE}{spread}" if seeds else "data: pairs, and paraphrases in % of test"
    rows, notes = [], []
    for task, *others in results:
        about = [
            task["data"],
            str(task["dev"]["pairs"]),
            str(task["test"]["pairs"]),
            _format_percent(task["all_paraphrases"]),
        ]
        rows.append([*about, *(_format_spread(each["perceptron"]) for each in (task, *others) if seeds)])
        remarks = {
            f"one split, divided into {task['folds']} folds that share no sentence": task["folds"] > 1,
            f"{task['undecided']} pairs without a decided label left out": task["undecided"],
            f"{task['dev_pairs_in_test']} dev pairs left out: they are in test too": task["dev_pairs_in_test"],
        }
        notes += [f"{task['data']}: {text}" for text, holds in remarks.items() if holds]
    header = ["data", "dev", "test", "all paraphrases", *(names if seeds else [])]
    measured = {key for own in results for task in own for key in task["cosine"]}
    columns = {key: heading for key, heading in _COLUMNS.items() if key in measured}
    cosines = [
        [task["data"], name, *(_format_percent(task["cosine"].get(key)) for key in columns)]
        for own in results
        for name, task in zip(names, own, strict=True)
    ]
    return "\n".join(
        [
            f"## {title}\n",
            format_table(header, rows),
            *notes,
            *([""] if notes else []),
            "## cosine: nothing trained; average precision (AP), accuracy and F1, × 100, on test\n",
            format_table(["data", "scorer", *columns.values()], cosines),
        ]
    )


def _format_spread(perceptron: Mapping[str, Any]) -> str:
    deviation = perceptron["standard_deviation"]
    return _format_percent(perceptron["accuracy"]) + ("" if deviation is None else f" ± {_format_percent(deviation)}")


def _format_percent(value: float | None) -> str:
    return number(None if value is None else 100 * value)


def _read(settings: EvaluateSettings) -> Benchmark:
    folders = name_folders(settings)
    splits = {"dev_split": settings.dev_split, "test_split": settings.test_split}
    tasks = [replace(read_task(folder, **splits), name=name) for name, folder in folders.items()]
    seeds = range(1, settings.seeds + 1)
    if seeds and find_spec("sklearn") is None:
        remedy = "pip install 'hf-paraphrase[classification]'"
        if is_given(settings, "seeds"):
            raise UsageError("the perceptrons of --seeds need scikit-learn", remedy=remedy)
        log(f"without scikit-learn only the cosine is measured ({remedy} for the perceptron)")
        seeds = range(0)

    def measure(scorer: Scorer) -> Scores:
        results = evaluate_detection(scorer, tasks, seeds=seeds)
        measurements = tuple(one for result in results for one in list_detection_measurements(result))
        return Scores(scorer.name, scorer.kind, {"tasks": results}, measurements)

    return Benchmark(
        measure,
        inputs=list(folders.values()),
        protocol=f"{PERCEPTRON_NOTE} (Sjöblom et al. 2018); {_COSINE_NOTE}" if seeds else _COSINE_NOTE,
        facts={"tasks": [task.facts() for task in tasks]},
        report=format_detection,
        name=f"paraphrase {' '.join(folders)} {settings.dev_split}/{settings.test_split}",
        trained=_PERCEPTRON_TRAINED if seeds else NOTHING_TRAINED,
    )


DETECTION = Suite(
    _read,
    has_pairs_with(find_label),
    several=True,
    settings=("dev_split", "test_split", "seeds"),
    heading="Evaluation: paraphrase detection",
)

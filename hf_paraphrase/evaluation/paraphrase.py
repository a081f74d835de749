"""The suite `paraphrase`: how well sentence vectors tell paraphrases from other pairs.

Two measurements of the same vectors. With training, as in Sjöblom, Creutz and Aulamo 2018, section 4 (Tables 2, 3, 6
and 9): a perceptron on the two concatenated vectors is trained on the development pairs, and its accuracy on the test
pairs stands beside that of calling every pair a paraphrase. Without training, as MTEB reports for OpusparcusPC: the
cosine's average precision, and its accuracy and F1 at the best threshold; and beside them the accuracy and F1 on test
at the threshold that was best on the development pairs, which is what a user of that threshold would get.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from tqdm.auto import tqdm

from ..artefacts.card_heads import Measurement
from ..data.folder import DataFolder
from ..errors import InputError
from ..tables import format_table, number, short_names
from .baselines import Scorer, encode_once
from .correlation import cosine_similarities
from .graded_set import chosen_split
from .labelled_set import (
    LabelledSet,
    read_labelled_folder,
    require_both_classes,
    sentence_folds,
    sentence_key,
    without_pairs_of,
)
from .suite import NOTHING_TRAINED, Benchmark, Scores, Suite, has_columns, named_folders

if TYPE_CHECKING:
    from .evaluate_settings import EvaluateSettings

PERCEPTRON_NOTE = (
    "accuracy × 100 on test of a perceptron (200 hidden units) on the two concatenated vectors, trained on dev"
)
_COSINE_NOTE = "average precision, accuracy and F1 of the cosine; shares from 0 to 1"
FOLDS = 5
"""Folds that a single split is parted into."""
_COLUMNS = {
    "average_precision": "AP",
    "accuracy": "best accuracy",
    "f1": "best F1",
    "accuracy_at_dev": "accuracy at dev's threshold",
    "f1_at_dev": "F1 at dev's",
}
"""What the cosine's measures are called in the table."""


@dataclass(frozen=True, eq=False)
class DetectionTask:
    """Labelled pairs to develop and to test on.

    Attributes:
        folds: For each fold the places in `pairs` of its development and its test pairs; one fold where there are two
            splits.
        splits: The names of the development and the test split.
        overlapping: How many development pairs were left out because they are test pairs too.
    """

    name: str
    pairs: LabelledSet
    folds: tuple[tuple[np.ndarray, np.ndarray], ...] = field(repr=False)
    splits: tuple[str, str]
    overlapping: int = 0

    @property
    def tested(self) -> np.ndarray:
        """The places of all test pairs, fold after fold (n,)."""
        return np.concatenate([test for _, test in self.folds])


def read_task(folder: Path, *, dev_split: str = "validation", test_split: str = "test") -> DetectionTask:
    """Reads the development and test pairs of a file or a data folder.

    A pair of the test split that is also in the development split, whichever way round, is left out of the
    development pairs, so that results on the test split stay comparable. If both splits are the same, or there is only
    one, or a file, its pairs are parted into five folds that share no sentence; each is tested on once, with the other
    four to develop on.
    """
    if folder.is_file():
        dev_split = test_split = folder.name
    elif folder.is_dir():
        opened = DataFolder(folder)
        dev_split, test_split = (chosen_split(opened, split) for split in (dev_split, test_split))
    dev = read_labelled_folder(folder, dev_split)
    name, splits = folder.resolve().name, (dev_split, test_split)
    if dev_split == test_split:
        require_both_classes(dev, folder)
        return DetectionTask(name, dev, _folds(dev, folder), splits)
    test = read_labelled_folder(folder, test_split)
    require_both_classes(test, folder)
    kept = without_pairs_of(dev, test)
    require_both_classes(kept, folder)
    both = LabelledSet(
        name=name,
        sentences1=kept.sentences1 + test.sentences1,
        sentences2=kept.sentences2 + test.sentences2,
        labels=np.concatenate([kept.labels, test.labels]),
        undecided=dev.undecided + test.undecided,
    )
    places = np.arange(len(both))
    fold = (places[: len(kept)], places[len(kept) :])
    return DetectionTask(name, both, (fold,), splits, overlapping=len(dev) - len(kept))


def evaluate_detection(
    scorer: Scorer, tasks: Sequence[DetectionTask], *, seeds: Sequence[int]
) -> list[dict[str, Any]]:
    """Evaluates a scorer on every task; each distinct sentence of all tasks is encoded once.

    Returns:
        For each task what :func:`describe` says of it; `perceptron`, with the accuracy on test of each seed, their
        mean and their standard deviation (n - 1 in the denominator), or None without seeds; and `cosine`, on test:
        `average_precision`, `accuracy`, `f1` and the thresholds of the last two; `accuracy_at_dev` and `f1_at_dev` at
        the thresholds that were best on the development pairs, and these; `top_1` of :func:`top_1` where the task is
        one of retrieval. A threshold is None where calling no pair a paraphrase is best, and where each fold has its
        own. All are shares from 0 to 1.
    """
    pairs = [task.pairs for task in tasks]
    vectors = encode_once(scorer.encode, (text for own in pairs for text in (*own.sentences1, *own.sentences2)))
    results = []
    total = len(seeds) * sum(len(task.folds) for task in tasks)
    with tqdm(total=total, unit=" perceptrons", desc="train", disable=not total or None) as bar:
        for task in tasks:
            first, second = vectors(task.pairs.sentences1), vectors(task.pairs.sentences2)
            perceptron = _perceptrons(task, first, second, seeds, bar) if seeds else None
            if scorer.similarity is None:
                similarities = cosine_similarities(first, second)
            else:
                found = scorer.similarity(task.pairs.sentences1, task.pairs.sentences2)
                similarities = np.nan_to_num(np.asarray(found, dtype=np.float64))
            results.append(
                {**describe(task), "perceptron": perceptron, "cosine": _cosine_measures(task, similarities)}
            )
    return results


def detection_measurements(result: Mapping[str, Any]) -> list[Measurement]:
    """Lists the perceptron's accuracy, if there is one, and what the cosine reaches, in per cent."""
    measured = partial(
        Measurement, dataset=result["data"], split=result["test_split"], task_name="Paraphrase detection"
    )
    cosine = [
        measured("sentence-similarity", metric=key, value=round(100 * result["cosine"][key], 6), name=name)
        for key, name in (
            ("average_precision", "average precision × 100 of the cosine"),
            ("accuracy", "accuracy (%) of the cosine at the best threshold"),
            ("f1", "F1 × 100 of the cosine at the best threshold"),
        )
    ]
    if result["perceptron"] is None:
        return cosine
    name = "accuracy (%; perceptron on the two vectors, trained on the dev pairs)"
    accuracy = round(100 * result["perceptron"]["accuracy"], 6)
    return [measured("text-classification", metric="accuracy", value=accuracy, name=name), *cosine]


def describe(task: DetectionTask) -> dict[str, Any]:
    """Returns what a task is made of as plain values for JSON, with the accuracy of the all-paraphrases baseline."""
    labels, tested = task.pairs.labels, task.tested
    dev = np.unique(np.concatenate([dev for dev, _ in task.folds]))
    return {
        "data": task.name,
        "dev_split": task.splits[0],
        "test_split": task.splits[1],
        "folds": len(task.folds),
        "dev": {"pairs": len(dev), "paraphrases": int(labels[dev].sum())},
        "test": {"pairs": len(tested), "paraphrases": int(labels[tested].sum())},
        "undecided": task.pairs.undecided,
        "dev_pairs_in_test": task.overlapping,
        "all_paraphrases": float(labels[tested].mean()),
    }


def top_1(sentences1: Sequence[str], similarities: np.ndarray, labels: np.ndarray) -> float | None:
    """Computes how often the most similar candidate of a sentence is a paraphrase of it.

    The candidates of a sentence are the second sentences of the pairs in which it is the first. Where several are
    equally similar, the share of paraphrases among these counts.

    Returns:
        A share from 0 to 1 of the different first sentences; None where one of these has no paraphrase or no other
        pair, so that there is nothing to retrieve among.
    """
    candidates: dict[str, list[int]] = {}
    for place, sentence in enumerate(map(sentence_key, sentences1)):
        candidates.setdefault(sentence, []).append(place)
    shares = []
    for places in candidates.values():
        candidate_similarities = similarities[places]
        own = labels[places]
        if own.all() or not own.any():
            return None
        shares.append(own[candidate_similarities == candidate_similarities.max()].mean())
    return float(np.mean(shares)) if shares else None


def _folds(pairs: LabelledSet, folder: Path) -> tuple[tuple[np.ndarray, np.ndarray], ...]:
    fold_of = sentence_folds(pairs.sentences1, pairs.sentences2, FOLDS)
    folds = tuple((np.flatnonzero(fold_of != fold), np.flatnonzero(fold_of == fold)) for fold in range(FOLDS))
    if not all(len(test) for _, test in folds):
        raise InputError(
            f"{pairs.name} does not part into {FOLDS} folds that share no sentence",
            path=folder,
            remedy="give another --test-split than --dev-split",
        )
    for dev, _ in folds:
        require_both_classes(pairs.rows(np.isin(np.arange(len(pairs)), dev)), folder)
    return folds


def _perceptrons(
    task: DetectionTask, first: np.ndarray, second: np.ndarray, seeds: Sequence[int], bar: Any
) -> dict[str, Any]:
    """Computes the accuracy on the test pairs of all folds for each seed."""
    from .pair_classifier import train_pair_classifiers

    right = np.zeros(len(seeds))
    labels = task.pairs.labels
    for dev, test in task.folds:
        classifiers = train_pair_classifiers(first[dev], second[dev], labels[dev], seeds=seeds)
        right += (classifiers.predict(first[test], second[test]) == (labels[test] == 1)).sum(axis=1)
        bar.update(len(seeds))
    accuracies = (right / len(task.tested)).tolist()
    return {
        "accuracy": float(np.mean(accuracies)),
        "standard_deviation": float(np.std(accuracies, ddof=1)) if len(accuracies) > 1 else None,
        "accuracies": accuracies,
    }


def _cosine_measures(task: DetectionTask, similarities: np.ndarray) -> dict[str, float | None]:
    from ..metrics.paraphrase_detection.paraphrase_detection import detection_measures

    labels, tested = task.pairs.labels, task.tested
    measures = detection_measures(similarities[tested], labels[tested])
    taken: dict[str, list[np.ndarray]] = {"accuracy": [], "f1": []}
    chosen: dict[str, float | None] = {}
    for dev, test in task.folds:
        on_dev = detection_measures(similarities[dev], labels[dev])
        for name, parts in taken.items():
            threshold = on_dev[f"{name}_threshold"]
            parts.append(similarities[test] >= threshold)
            chosen[f"dev_{name}_threshold"] = _finite(threshold) if len(task.folds) == 1 else None
    is_paraphrase = labels[tested] == 1
    called = {name: np.concatenate(parts) for name, parts in taken.items()}
    hits = int((called["f1"] & is_paraphrase).sum())
    first = top_1([task.pairs.sentences1[place] for place in tested], similarities[tested], labels[tested])
    return {
        "average_precision": measures["average_precision"],
        "accuracy": measures["accuracy"],
        "accuracy_threshold": _finite(measures["accuracy_threshold"]),
        "f1": measures["f1"],
        "f1_threshold": _finite(measures["f1_threshold"]),
        "accuracy_at_dev": float((called["accuracy"] == is_paraphrase).mean()),
        "f1_at_dev": 2 * hits / max(1, int(called["f1"].sum()) + int(is_paraphrase.sum())),
        **chosen,
        **({} if first is None else {"top_1": first}),
    }


def _finite(threshold: float) -> float | None:
    return threshold if np.isfinite(threshold) else None


def format_detection(scores: Sequence[Scores]) -> str:
    """Formats two tables: the data, with the accuracies of the perceptron if one was trained, and the cosine."""
    names = short_names([item.name for item in scores])
    tasks = scores[0].record["tasks"]
    perceptron = tasks[0]["perceptron"]
    seeds = 0 if perceptron is None else len(perceptron["accuracies"])
    header = ["data", "dev", "test", "all paraphrases", *(names if seeds else [])]
    rows = [
        [
            task["data"],
            str(task["dev"]["pairs"]),
            str(task["test"]["pairs"]),
            _cell(task["all_paraphrases"]),
            *(_with_deviation(item.record["tasks"][place]["perceptron"]) for item in scores if seeds),
        ]
        for place, task in enumerate(tasks)
    ]
    spread = f"; mean and standard deviation of {seeds} seeds" if seeds > 1 else ""
    heading = f"perceptron: {PERCEPTRON_NOTE}{spread}" if seeds else "data: pairs, and paraphrases in % of test"
    lines = [f"## {heading}", "", format_table(header, rows), *_notes(tasks)]
    lines += ["## cosine: nothing trained; average precision (AP), accuracy and F1, × 100, on test", ""]
    columns = dict(_COLUMNS)
    if any("top_1" in task["cosine"] for item in scores for task in item.record["tasks"]):
        columns["top_1"] = "top 1"
    rows = [
        [task["data"], name, *(_cell(item.record["tasks"][place]["cosine"].get(key)) for key in columns)]
        for place, task in enumerate(tasks)
        for name, item in zip(names, scores, strict=True)
    ]
    return "\n".join([*lines, format_table(["data", "scorer", *columns.values()], rows)])


def _notes(tasks: Sequence[dict[str, Any]]) -> list[str]:
    lines = []
    for task in tasks:
        share = task["all_paraphrases"]
        notes = {
            f"one split, parted into {task['folds']} folds without a common sentence": task["folds"] > 1,
            f"calling no pair a paraphrase would be right for {_cell(1 - share)} %": share < 0.5,
            f"{task['undecided']} pairs without a decided label left out": task["undecided"],
            f"{task['dev_pairs_in_test']} dev pairs left out: they are in test too": task["dev_pairs_in_test"],
        }
        lines += [f"{task['data']}: {text}" for text, holds in notes.items() if holds]
    return [*lines, ""] if lines else lines


def _cell(value: float | None) -> str:
    return number(None if value is None else 100 * value)


def _with_deviation(perceptron: Mapping[str, Any]) -> str:
    deviation = perceptron["standard_deviation"]
    return _cell(perceptron["accuracy"]) + ("" if deviation is None else f" ± {_cell(deviation)}")


def _read(settings: EvaluateSettings) -> Benchmark:
    folders = named_folders(settings)
    splits = {"dev_split": settings.dev_split, "test_split": settings.test_split}
    tasks = [replace(read_task(folder, **splits), name=name) for name, folder in folders.items()]
    seeds = range(1, settings.seeds + 1)

    def measure(scorer: Scorer) -> Scores:
        results = evaluate_detection(scorer, tasks, seeds=seeds)
        measurements = tuple(one for result in results for one in detection_measurements(result))
        return Scores(scorer.name, scorer.kind, {"tasks": results}, measurements)

    return Benchmark(
        measure,
        inputs=list(folders.values()),
        protocol=f"{PERCEPTRON_NOTE} (Sjöblom et al. 2018); {_COSINE_NOTE}" if seeds else _COSINE_NOTE,
        facts={"tasks": [describe(task) for task in tasks]},
        report=format_detection,
        name=f"paraphrase {' '.join(folders)} {settings.dev_split}/{settings.test_split}",
        trained="the perceptron was trained on top of fixed vectors, for the cosine nothing was"
        if seeds
        else NOTHING_TRAINED,
    )


DETECTION = Suite(
    _read,
    has_columns("sentence1", "sentence2", "label"),
    several=True,
    settings=("dev_split", "test_split", "seeds"),
    heading="Evaluation: paraphrase detection",
)

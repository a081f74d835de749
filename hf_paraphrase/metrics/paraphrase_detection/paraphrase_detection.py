"""Detection of paraphrases by a threshold on a score, as an `evaluate` metric."""

from __future__ import annotations

from collections.abc import Sequence

import datasets
import evaluate
import numpy as np

_DESCRIPTION = """\
Measures how well a score separates paraphrases from other pairs: the accuracy and the F1 of the paraphrases at \
the threshold that is best for each, average precision, and, if a threshold chosen elsewhere (on a development \
set) is given, accuracy, precision, recall and F1 at that one.\
"""
_INPUTS = """\
Args:
    predictions: a score for each pair, higher for paraphrases, e.g. a cosine.
    references: 1 for a paraphrase, 0 for another pair.
    threshold: optionally a threshold chosen on other pairs; a pair is taken for a paraphrase from it upwards.
Returns:
    accuracy, accuracy_threshold: the best accuracy (0 to 1) of any threshold, and that threshold.
    f1, f1_threshold: the best F1 (0 to 1) of the paraphrases, and its threshold.
    average_precision: sum of precision times the increase of recall, from the highest score down.
    positives, pairs: how many pairs are paraphrases, and how many there are.
    accuracy_at, precision_at, recall_at, f1_at: with a threshold, the values at it.
    A threshold is midway between the two neighbouring scores; it is inf where the best is to take no pair.
Examples:
    >>> metric = evaluate.load("path/to/paraphrase_detection")
    >>> metric.compute(predictions=[0.9, 0.8, 0.2], references=[1, 1, 0])["accuracy"]
    1.0
"""
_CITATION = """\
@inproceedings{sjoblom2018paraphrase,
  title = {Paraphrase Detection on Noisy Subtitles in Six Languages},
  author = {Sj{\\"o}blom, Eetu and Creutz, Mathias and Aulamo, Mikko},
  booktitle = {Workshop on Noisy User-generated Text},
  year = {2018}
}
"""


class ParaphraseDetection(evaluate.Metric):
    """Accuracy and F1 at the best threshold, average precision, and the values at a given threshold."""

    def _info(self) -> evaluate.MetricInfo:
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_INPUTS,
            features=datasets.Features(
                {"predictions": datasets.Value("float64"), "references": datasets.Value("int64")}
            ),
            reference_urls=["https://aclanthology.org/W18-6109/"],
        )

    def _compute(
        self, predictions: Sequence[float], references: Sequence[int], threshold: float | None = None
    ) -> dict[str, float]:
        return detection_measures(predictions, references, threshold)


def detection_measures(
    predictions: Sequence[float], references: Sequence[int], threshold: float | None = None
) -> dict[str, float]:
    """Compute the measures of the metric from arrays, without `evaluate`; see its description for the arguments."""
    scores, labels = _checked(predictions, references)
    order = np.argsort(-scores, kind="stable")
    ordered, hits = scores[order], labels[order].cumsum()
    # A threshold does not separate equal scores, so only the last of equal scores can be the last one accepted.
    taken = np.append(np.flatnonzero(np.diff(ordered)), len(ordered) - 1)
    true_positives, count, positives = hits[taken], taken + 1, int(hits[-1])
    precision, recall = true_positives / count, true_positives / positives
    average_precision = float((np.diff(recall, prepend=0.0) * precision).sum())
    right = 2 * true_positives - count + (len(labels) - positives)
    f1 = 2 * true_positives / (count + positives)
    result = {
        "accuracy": float(max(right.max(), len(labels) - positives) / len(labels)),
        "accuracy_threshold": _threshold(ordered, taken, right, nothing=len(labels) - positives),
        "f1": float(f1.max()),
        "f1_threshold": _threshold(ordered, taken, f1, nothing=-1),
        "average_precision": average_precision,
        "positives": positives,
        "pairs": len(labels),
    }
    if threshold is not None:
        result |= _at(scores, labels, float(threshold))
    return result


def _checked(predictions: Sequence[float], references: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    scores, labels = np.asarray(predictions, dtype=np.float64), np.asarray(references, dtype=np.int64)
    if not len(scores):
        raise ValueError("predictions is empty: give one score per pair")
    bad = np.flatnonzero(~np.isfinite(scores))
    if len(bad):
        raise ValueError(f"predictions[{bad[0]}] is {scores[bad[0]]}: every pair needs a finite score")
    wrong = np.flatnonzero((labels != 0) & (labels != 1))
    if len(wrong):
        raise ValueError(f"references[{wrong[0]}] is {labels[wrong[0]]}: 1 is a paraphrase, 0 another pair")
    if labels.min() == labels.max():
        raise ValueError(f"all {len(labels)} references are {labels[0]}: detection needs pairs of both kinds")
    return scores, labels


def _threshold(ordered: np.ndarray, taken: np.ndarray, values: np.ndarray, *, nothing: float) -> float:
    """Find the highest threshold with the maximum value; `nothing` is the value of accepting no pair."""
    best = int(np.argmax(values))
    if values[best] <= nothing:
        return float("inf")
    last = int(taken[best])
    if last + 1 == len(ordered):
        return float(ordered[last])
    # There is nothing between neighbouring floats; then the score itself is the threshold.
    middle = ordered[last + 1] + (ordered[last] - ordered[last + 1]) / 2
    return float(middle if middle > ordered[last + 1] else ordered[last])


def _at(scores: np.ndarray, labels: np.ndarray, threshold: float) -> dict[str, float]:
    if np.isnan(threshold):
        raise ValueError("threshold is nan: give a number")
    chosen = scores >= threshold
    true_positives = int((chosen & (labels == 1)).sum())
    count, positives = int(chosen.sum()), int(labels.sum())
    return {
        "accuracy_at": float((chosen == (labels == 1)).mean()),
        "precision_at": true_positives / count if count else 0.0,
        "recall_at": true_positives / positives,
        "f1_at": 2 * true_positives / (count + positives),
    }

"""Results as the Hub's `model-index` has them: what a model's provenance says was measured, and nothing else."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

_TASKS = {
    "sentence-similarity": "Semantic textual similarity",
    "translation": "Translation",
    "text-classification": "Telling references from translations",
}
_RETRIEVAL = "precision at 1 (%; nearest sentence of the other language, mean of both directions"
_DETECTION = "Paraphrase detection"


@dataclass(frozen=True)
class Measured:
    """One number that was measured.

    Attributes:
        task: A task of the Hub, e.g. `translation`.
        data: The name of the data, for people.
        data_type: The same for machines: letters, digits, `-`, `_` and `.`.
        config: The configuration or subset of the data, if it has any.
        split: The split.
        metric: The metric as the Hub's library `evaluate` names it, e.g. `sacrebleu`.
        metric_name: The metric with all that one needs to know to compare it.
        value: The number.
        task_name: The task for people; None for what it is called where nothing else is said.
    """

    task: str
    data: str
    data_type: str
    config: str | None
    split: str | None
    metric: str
    metric_name: str
    value: float
    task_name: str | None = None


def measured_results(record: Mapping[str, Any]) -> list[Measured]:
    """Lists what a provenance record says was measured: when the model was made, then by later evaluations.

    Args:
        record: What :func:`~.provenance.read_provenance` returns. Parts of another form than the commands of this
            package write are passed over.
    """
    makers = {
        "hf-paraphrase train-nmt": _translation_training,
        "hf-paraphrase train-classifier": _classifier_training,
        "hf-paraphrase train-encoder": _encoder_training,
        "hf-paraphrase train-supervised": _supervised_training,
        "hf-paraphrase train-parallel-classifier": _parallel_training,
        "hf-paraphrase train-bilingual-vectors": _bilingual_training,
    }
    found: list[Measured | None] = []
    maker = makers.get(str(record.get("command")))
    if maker is not None:
        found += maker(_mapping(record.get("results")), _mapping(record.get("settings")))
    for evaluation in _mapping(record.get("evaluations")).values():
        kind = _mapping(evaluation).get("kind")
        if kind == "evaluate":
            found += _similarity(_mapping(evaluation))
        elif kind == "evaluate-paraphrase":
            found += _detection(_mapping(evaluation))
        elif kind == "evaluate-senteval":
            found += _transfer(_mapping(evaluation))
        elif kind == "evaluate-nmt":
            found += _translation(_mapping(evaluation))
        elif kind == "predict":
            found += _predictions(_mapping(evaluation))
    return [item for item in found if item is not None]


def model_index(name: str, record: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """Builds the value of `model-index` in a model card's head.

    Args:
        name: The model's name.
        record: Its provenance record.

    Returns:
        What huggingface_hub's `ModelCardData` reads back as the same results; None if nothing was measured.
    """
    from huggingface_hub import EvalResult
    from huggingface_hub.repocard_data import eval_results_to_model_index

    results = [
        EvalResult(
            task_type=item.task,
            task_name=item.task_name or _TASKS[item.task],
            dataset_type=item.data_type,
            dataset_name=item.data,
            dataset_config=item.config,
            dataset_split=item.split,
            metric_type=item.metric,
            metric_name=item.metric_name,
            metric_value=item.value,
            verified=False,
        )
        for item in measured_results(record)
    ]
    return eval_results_to_model_index(name, results) if results else None


def _translation_training(results: Mapping[str, Any], settings: Mapping[str, Any]) -> Iterator[Measured | None]:
    bitext = settings.get("bitext")
    first = bitext[0] if isinstance(bitext, list) and bitext else bitext
    name = "BLEU (greedy, case-insensitive; it chose the checkpoint)"
    yield _measured("translation", first, None, settings.get("dev_split"), "sacrebleu", name, results.get("dev_bleu"))


def _classifier_training(results: Mapping[str, Any], settings: Mapping[str, Any]) -> Iterator[Measured | None]:
    for part, note in (("test", ""), ("dev", "; it chose the epoch")):
        value = _mapping(results.get(part)).get("accuracy")
        name = f"accuracy (%; as many references as translations{note})"
        yield _measured("text-classification", settings.get("pairs"), None, part, "accuracy", name, value)


def _parallel_training(results: Mapping[str, Any], settings: Mapping[str, Any]) -> Iterator[Measured | None]:
    dev = _mapping(results.get("dev"))
    name = "F1 (%; at the best threshold, with the negatives of training; it chose the epoch)"
    task, title = "text-classification", "Telling translations from other sentences"
    yield _measured(task, settings.get("bitext"), None, "validation", "f1", name, dev.get("best_f1"), title)


def _bilingual_training(results: Mapping[str, Any], settings: Mapping[str, Any]) -> Iterator[Measured | None]:
    found = _mapping(results.get("retrieval"))
    name = f"{_RETRIEVAL})"
    task, title = "sentence-similarity", "Finding translations"
    yield _measured(task, settings.get("bitext"), None, "validation", "precision", name, found.get("mean"), title)


def _encoder_training(results: Mapping[str, Any], settings: Mapping[str, Any]) -> Iterator[Measured | None]:
    task, value = "sentence-similarity", results.get("dev_best")
    if any("source_to_target" in entry for entry in _list(results.get("dev_scores"))):
        name, title = f"{_RETRIEVAL}; it chose the epoch)", "Finding translations"
        yield _measured(task, settings.get("dev_data"), None, "validation", "precision", name, value, title)
        return
    name = "Pearson × 100 of the cosine, mean over the dev sets (it chose the epoch)"
    yield _measured(task, settings.get("dev_data"), None, "dev", "pearsonr", name, value)


def _supervised_training(results: Mapping[str, Any], settings: Mapping[str, Any]) -> Iterator[Measured | None]:
    for part, note in (("test", ""), ("dev", "; it chose the epoch")):
        split = settings.get(f"{part}_split")
        yield from _supervised(_mapping(results.get(part)), settings.get("data"), split or part, note)


def _predictions(evaluation: Mapping[str, Any]) -> Iterator[Measured | None]:
    yield from _supervised(_mapping(evaluation.get("scores")), evaluation.get("data"), evaluation.get("split"), "")


def _supervised(scores: Mapping[str, Any], data: object, split: object, note: str) -> Iterator[Measured | None]:
    """Yields accuracy and F1 of classes, or correlations and squared error of scores."""
    names = {
        "accuracy": ("accuracy", f"accuracy (%{note})"),
        "macro_f1": ("f1", f"macro F1 × 100{note}"),
        "pearson": ("pearsonr", f"Pearson × 100{note}"),
        "spearman": ("spearmanr", f"Spearman × 100{note}"),
        "mse": ("mse", f"mean squared error{note}"),
    }
    graded = "pearson" in scores
    task = "sentence-similarity" if graded else "text-classification"
    title = "Scores of sentences or pairs" if graded else "Text classification"
    for key, (metric, name) in names.items():
        found = _measured(task, data, None, split, metric, name, scores.get(key))
        yield None if found is None else dataclasses.replace(found, task_name=title)


def _similarity(evaluation: Mapping[str, Any]) -> Iterator[Measured | None]:
    task = "sentence-similarity"
    metrics = [(key, f"{key}r", f"{key.capitalize()} × 100 of the cosine") for key in ("pearson", "spearman")]
    for item in _list(evaluation.get("sets")):
        place: tuple[object, object, object] = item.get("family"), item.get("name"), None
        if place[0] == "graded":
            folder, _, split = str(place[1]).rpartition("/")
            place = folder, None, split
        for key, metric, name in metrics:
            yield _measured(task, *place, metric, name, item.get(key))
    for item in _mapping(evaluation.get("means")).values():
        mean = _mapping(item)
        # A mean over some of the sets would stand beside others' over all of them; the text of the card has it.
        if mean.get("complete") is not True:
            continue
        for key, metric, name in metrics:
            yield _measured(task, mean.get("label"), None, None, metric, f"{name}, mean over sets", mean.get(key))


def _detection(evaluation: Mapping[str, Any]) -> Iterator[Measured | None]:
    for item in _list(evaluation.get("tasks")):
        place = item.get("data"), None, item.get("test_split")
        name = "accuracy (%; perceptron on the two vectors, trained on the dev pairs)"
        value = _percent(_mapping(item.get("perceptron")).get("accuracy"))
        yield _measured("text-classification", *place, "accuracy", name, value, _DETECTION)
        for key, metric, title in (
            ("average_precision", "average_precision", "average precision × 100 of the cosine"),
            ("accuracy", "accuracy", "accuracy (%) of the cosine at the best threshold"),
            ("f1", "f1", "F1 × 100 of the cosine at the best threshold"),
        ):
            value = _percent(_mapping(item.get("cosine")).get(key))
            yield _measured("sentence-similarity", *place, metric, title, value, _DETECTION)


def _transfer(evaluation: Mapping[str, Any]) -> Iterator[Measured | None]:
    names = {
        "accuracy": ("accuracy", "accuracy (%; regression on fixed vectors, SentEval)"),
        "f1": ("f1", "F1 × 100 (regression on fixed vectors, SentEval)"),
        "pearson": ("pearsonr", "Pearson × 100 (regression on fixed vectors, SentEval)"),
        "spearman": ("spearmanr", "Spearman × 100 (regression on fixed vectors, SentEval)"),
    }
    for item in _list(evaluation.get("tasks")):
        split = item.get("tested_on")
        for key, (metric, title) in names.items():
            value = _mapping(item.get("metrics")).get(key)
            kind = "text-classification" if key in {"accuracy", "f1"} else "sentence-similarity"
            yield _measured(kind, item.get("task"), None, split, metric, title, value, "Transfer")


def _percent(value: object) -> object:
    return round(100 * value, 6) if isinstance(value, float) and math.isfinite(value) else None


def _translation(evaluation: Mapping[str, Any]) -> Iterator[Measured | None]:
    for item in _list(evaluation.get("scores")):
        for key, metric, title in (("bleu", "sacrebleu", "BLEU"), ("chrf", "chrf", "chrF2")):
            signature = str(item.get(f"{key}_signature"))[:200]
            name = f"{title}, beam {item.get('num_beams')} ({signature})"
            data, split = evaluation.get("bitext"), evaluation.get("split")
            yield _measured("translation", data, None, split, metric, name, item.get(key))


def _measured(
    task: str,
    data: object,
    config: object,
    split: object,
    metric: str,
    name: str,
    value: object,
    task_name: str | None = None,
) -> Measured | None:
    """Builds a result; None where a part of it is not what a command writes, and for a value that is no number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return None
    if not isinstance(data, str) or not data.strip():
        return None
    # Only the last part of a path: where a folder lies is nobody's business.
    shown = re.split(r"[/\\]", data.strip().rstrip("/\\"))[-1][:100]
    title = f"{shown} {config}" if isinstance(config, str) else shown
    return Measured(
        task=task,
        data=title,
        data_type=re.sub(r"[^a-z0-9_.]+", "-", shown.lower()).strip("-.") or "data",
        config=config if isinstance(config, str) else None,
        split=split if isinstance(split, str) else None,
        metric=metric,
        metric_name=name,
        value=value,
        task_name=task_name,
    )


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: object) -> list[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []

"""The command `predict`: applies a classifier or scorer to rows, and compares the predictions with right answers."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain, compress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from ..artefacts.artefact import Artefact, Card, output_file
from ..artefacts.files import atomic_write_text
from ..artefacts.fsspec_path import to_path
from ..artefacts.provenance import inherited_metadata, read_provenance
from ..data.folder import DataFolder, write_split
from ..encoders.dev_sets.pair_sets import choose_split
from ..errors import InputError, UsageError
from ..messages import log
from ..settings import recipe, setting
from ..training.devices import DeviceSettings
from .labelled_texts import LabelledTexts, labelled_rows, text_columns
from .scores import class_scores, graded_scores, label_scores, score_table

_FILES = (".csv", ".jsonl")


@dataclass(kw_only=True)
class PredictionSettings(DeviceSettings):
    """Apply a model of `train-supervised` to texts or pairs.

    Where the data has classes or scores, accuracy and F1, or Pearson, Spearman and the squared error go to standard
    output. Rows without a class, or with a class that the model does not have, get a prediction and do not count. If
    a text may have several labels, its prediction is a list, and `probability` has the probability of every label of
    the model, in the order of the model's `id2label`.
    """

    model: str = setting("the folder of a model made by train-supervised", path=True)
    data: str = setting(
        "sentences or pairs as in training: a data folder, a CSV, JSON lines or Parquet file, or a text file with one "
        "sentence per line",
        path=True,
        dataset=True,
    )
    split: str = setting("the split; if there is only one, that one", "test")
    text_column: str | None = setting(
        "the column of texts [default: as in training, sentence1 and sentence2, or text]", None
    )
    target_column: str | None = setting(
        "the column of classes or scores [default: as in training, label or score, if it exists]",
        None,
        names=["--target-column", "--label-column"],
    )
    label_separator: str | None = setting("separator of several labels of a text [default: as in training]", None)
    threshold: float = setting("the minimum probability of a label, if a text may have several", 0.5, above=0, below=1)
    output: str = setting(
        "output data folder, or a file that ends in .csv or .jsonl: the rows with the columns prediction and, for "
        "classes, probability"
    )
    overwrite: bool = setting("replace existing predictions", False)


@recipe(PredictionSettings)
def predict(settings: PredictionSettings) -> dict[str, Any]:
    """Apply a model of `train-supervised` to a split of a data folder, and compare where there are right answers.

    Returns:
        The number of `rows`, their `split`, and in `scores` how good the predictions are; None without right answers.
    """
    if Path(settings.output).suffix in _FILES:
        with output_file(settings.output, overwrite=settings.overwrite) as path:
            table, scores, split = _predict(settings)
            _write_file(path, table)
        log(f"{table.num_rows:,} predictions saved to {settings.output}")
        return {"rows": table.num_rows, "split": split, "scores": scores}
    with Artefact(
        settings.output,
        command="predict",
        settings=settings,
        inputs=[settings.model, settings.data],
        overwrite=settings.overwrite,
    ) as artefact:
        table, scores, split = _predict(settings)
        write_split(artefact.staging, split, [table], table.schema)
        values = {
            **inherited_metadata(Path(settings.data)),
            "model": to_path(settings.model).resolve().name,
            "data": to_path(settings.data).resolve().name,
            "split": split,
            "num_rows": table.num_rows,
            "table": None if scores is None else score_table({split: scores}),
        }
        results = {"rows": table.num_rows, "split": split, "scores": scores}
        artefact.finish(results=results, card=Card("predictions", values))
    log(f"{table.num_rows:,} predictions saved to {settings.output}")
    return results


def _write_file(path: Path, table: pa.Table) -> None:
    """Write a table as CSV, lists as JSON, or as JSON lines."""
    if path.suffix == ".jsonl":
        lines = (json.dumps(row, ensure_ascii=False, default=str) + "\n" for row in table.to_pylist())
        atomic_write_text(path, lines)
        return
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(table.column_names)
    for row in table.to_pylist():
        cells = row.values()
        writer.writerow([json.dumps(v, ensure_ascii=False) if isinstance(v, list | dict) else v for v in cells])
    atomic_write_text(path, buffer.getvalue())


def _as_trained(settings: PredictionSettings, columns: list[str]) -> tuple[str | None, str | None, str | None]:
    """Return the columns of texts and targets and the separator; the training has the defaults."""
    record = read_provenance(settings.model) if Path(settings.model).is_dir() else {}
    trained: Mapping[str, Any] = record.get("settings", {})
    text, target, separator = settings.text_column, settings.target_column, settings.label_separator
    if text is None and trained.get("text_column") in columns:
        text = trained["text_column"]
    if target is None and trained.get("target_column") in columns:
        target = trained["target_column"]
    if separator is None and target == trained.get("target_column"):
        separator = trained.get("label_separator")
    return text, target, separator


def _predict(settings: PredictionSettings) -> tuple[pa.Table, dict[str, Any] | None, str]:
    from .classifier import SentenceClassifierModel

    classifier = SentenceClassifierModel.from_pretrained(settings.model, device=settings.device)
    graded, multi_label = classifier.objective in {"distribution", "regression"}, classifier.objective == "multi_label"
    if not multi_label and (settings.label_separator is not None or settings.threshold != 0.5):
        raise UsageError("--label-separator and --threshold need a model of several labels", remedy="leave both out")
    folder = DataFolder(settings.data)
    split = choose_split(folder, settings.split)
    table = folder.table(split)
    text_column, column, separator = _as_trained(settings, table.column_names)
    if column is None:
        likely = "score" if graded else "label"
        column = likely if likely in table.column_names else None
    for name in filter(None, [*text_columns(table.column_names, text_column), column]):
        if name not in table.column_names:
            remedy = f"name it with --text-column or --target-column; the columns are {', '.join(table.column_names)}"
            raise InputError(f"split `{split}` has no column {name}", path=settings.data, remedy=remedy)
    if column is not None and not graded:
        has_lists = separator is not None or pa.types.is_nested(table.schema.field(column).type)
        if has_lists != multi_label:
            kinds = ("several labels", "one class") if multi_label else ("one class", "several labels")
            problem = f"the model gives {kinds[0]} per text, but the column {column} has {kinds[1]}"
            raise InputError(problem, path=settings.data, remedy="name what separates labels by --label-separator")
    names = [] if column is None or graded else folder.class_names(column, split)
    texts = labelled_rows(
        table,
        settings.data,
        split,
        column=column,
        graded=graded,
        names=names,
        text_column=text_column,
        separator=separator,
        complete=False,
    )
    if (texts.second is not None) != classifier.model.config.pairs:
        wanted = "pairs (sentence1, sentence2)" if classifier.model.config.pairs else "single sentences"
        raise InputError(f"the model classifies {wanted}", path=settings.data, remedy="give data as in training")
    compared = _compared_rows(texts, None if graded else classifier.class_names)
    right = texts.keep(compared)
    scores = None
    columns: dict[str, Any]
    if graded:
        predicted = classifier.scores(texts.first, texts.second)
        columns = {"prediction": predicted}
        if len(right) and column is not None:
            scores = graded_scores(predicted[compared], np.array(right.targets))
    elif multi_label:
        probabilities, classes = classifier.label_probabilities(texts.first, texts.second), classifier.class_names
        likely_labels = probabilities >= settings.threshold
        lists = [list(compress(classes, row)) for row in likely_labels]
        columns = {"prediction": lists, "probability": list(probabilities)}
        if len(right) and column is not None:
            scores = label_scores(likely_labels[compared], right.class_numbers(classes) > 0, classes)
    else:
        predicted_classes, probabilities = classifier.classes(texts.first, texts.second)
        columns = {"prediction": predicted_classes, "probability": probabilities}
        if len(right) and column is not None:
            numbers = {name: index for index, name in enumerate(classifier.class_names)}
            predicted_numbers = np.array([numbers[name] for name in compress(predicted_classes, compared)])
            scores = class_scores(predicted_numbers, right.class_numbers(classifier.class_names), len(numbers))
    for name, values in columns.items():
        if name in table.column_names:
            raise InputError(f"the data has a column {name}", path=settings.data, remedy="rename it")
        table = table.append_column(name, pa.array(values))
    return table, scores, split


def _compared_rows(texts: LabelledTexts, classes: list[str] | None) -> np.ndarray:
    """Return which rows have a right answer that the model can give (rows,), and log how many have not."""
    if not texts.targets:
        return np.zeros(len(texts), bool)
    labels = [
        () if target is None or classes is None else target if texts.multi_label else (target,)
        for target in texts.targets
    ]
    unknown = set(chain.from_iterable(labels)).difference(classes or ())
    is_given = np.array([target is not None for target in texts.targets])
    is_known = np.array([not unknown.intersection(own) for own in labels])
    if not is_given.all():
        log(f"{(~is_given).sum():,} rows without a label or score are not compared")
    if unknown:
        log(f"{(~is_known).sum():,} rows are not compared: `{min(unknown)[:80]}` is no class of the model")
    return np.asarray(is_given & is_known)

"""The command `predict`: applies a classifier or scorer to rows, and scores the predictions on labelled rows."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass, replace
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ..artefacts.artefact import Artefact, Card, output_file
from ..artefacts.files import atomic_write, atomic_write_text, dump_json
from ..artefacts.fsspec_path import to_path
from ..artefacts.provenance import inherited_metadata, read_provenance
from ..data.folder import DataFolder, check_split_name, write_split
from ..data.schema import with_class_names
from ..encoders.dev_sets.pair_sets import choose_split
from ..errors import InputError, UsageError
from ..messages import log
from ..settings import is_given, recipe, setting
from ..text.normalization import is_blank
from ..training.devices import DeviceSettings
from .labelled_texts import LabelledTexts, read_labelled
from .scores import compare_classes, compare_scores, format_scores

_FILES = (".csv", ".jsonl", ".parquet")


@dataclass(kw_only=True)
class PredictionSettings(DeviceSettings):
    """Apply a model of `train-supervised` to texts or pairs.

    If the data has classes or scores, accuracy and F1, or Pearson's r, Spearman's rho and the mean squared error go to
    standard output. Rows without a class, or with a class that the model lacks, are predicted but not scored. For a
    model with several labels per text, a prediction is a list, and `probability` has the probability of every label,
    in the order of the model's `id2label`.
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
        "output data folder, or a file that ends in .csv, .jsonl or .parquet: the rows with the columns prediction "
        "and, for classes, probability"
    )
    overwrite: bool = setting("replace existing predictions", False)


@recipe(PredictionSettings)
def predict(settings: PredictionSettings) -> dict[str, Any]:
    """Apply a model of `train-supervised` to a split of a data folder, and score it on rows with classes or scores.

    Returns:
        The number of `rows`, their `split`, and the `scores` of the predictions; None without classes or scores.
    """
    if Path(settings.output).suffix in _FILES:
        with output_file(settings.output, overwrite=settings.overwrite) as path:
            table, results = _predict(settings)
            _write_file(path, table)
    else:
        inputs = [settings.model, settings.data]
        with Artefact(settings.output, command="predict", settings=settings, inputs=inputs) as artefact:
            table, results = _predict(settings)
            split, scores = results["split"], results["scores"]
            write_split(artefact.staging, split, [table], table.schema)
            values = {
                **inherited_metadata(Path(settings.data)),
                "model": to_path(settings.model).resolve().name,
                "data": to_path(settings.data).resolve().name,
                "split": check_split_name(split),
                "num_rows": table.num_rows,
                "table": None if scores is None else format_scores({split: scores}),
            }
            artefact.finish(results=results, card=Card("predictions", values))
    log(f"{table.num_rows:,} predictions saved to {settings.output}")
    return results


def _write_file(path: Path, table: pa.Table) -> None:
    """Write a table as Parquet, as JSON lines, or as CSV with lists in JSON."""
    if path.suffix == ".parquet":
        with atomic_write(path) as temporary:
            pq.write_table(table, temporary)
        return
    table = with_class_names(table)
    if path.suffix == ".jsonl":
        atomic_write_text(path, (dump_json(row) + "\n" for row in table.to_pylist()))
        return
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(table.column_names)
    for row in table.to_pylist():
        writer.writerow(map(_cell, row.values()))
    atomic_write_text(path, buffer.getvalue())


def _cell(value: Any) -> Any:
    """Return a value for CSV; lists and structs become JSON, and dates in them text."""
    return dump_json(value) if isinstance(value, list | dict) else value


def _fill_in_training(settings: PredictionSettings, columns: list[str]) -> PredictionSettings:
    """Fill in the columns and the label separator that the model was trained with."""
    record = read_provenance(settings.model) if Path(settings.model).is_dir() else {}
    trained: dict[str, Any] = record.get("settings", {})
    for name in ("text_column", "target_column"):
        if getattr(settings, name) is None and trained.get(name) in columns:
            settings = replace(settings, **{name: trained[name]})
    if settings.label_separator is None and settings.target_column == trained.get("target_column"):
        settings = replace(settings, label_separator=trained.get("label_separator"))
    return settings


def _predict(settings: PredictionSettings) -> tuple[pa.Table, dict[str, Any]]:
    """Return the rows with their predictions, and the results."""
    from .classifier import SentenceClassifierModel

    classifier = SentenceClassifierModel.from_pretrained(settings.model, device=settings.device)
    graded, multi_label = classifier.objective in {"distribution", "regression"}, classifier.objective == "multi_label"
    if not multi_label and (settings.label_separator is not None or settings.threshold != 0.5):
        raise UsageError("--label-separator and --threshold need a model of several labels", remedy="leave both out")
    folder = DataFolder(settings.data)
    split = choose_split(folder, settings.split, is_given=is_given(settings, "split"))
    table = folder.table(split)
    settings = _fill_in_training(settings, table.column_names)
    usual = "score" if graded else "label"
    column = settings.target_column or (usual if usual in table.column_names else None)
    texts = read_labelled(
        settings.data,
        split,
        column=column,
        graded=graded,
        text_column=settings.text_column,
        separator=settings.label_separator,
        complete=False,
    )
    if column is not None and not graded and texts.multi_label != multi_label:
        kinds = ("several labels", "one class") if multi_label else ("one class", "several labels")
        problem = f"the model gives {kinds[0]} per text, but the column {column} has {kinds[1]}"
        raise InputError(problem, path=settings.data, remedy="give the separator of labels as --label-separator")
    if (texts.second is not None) != classifier.model.config.pairs:
        wanted = "pairs (sentence1, sentence2)" if classifier.model.config.pairs else "single sentences"
        raise InputError(f"the model classifies {wanted}", path=settings.data, remedy="give data as in training")
    if blank := sum(map(is_blank, texts.first)):
        log(f"{blank:,} rows have no text: their predictions are meaningless", warning=True)
    names = classifier.class_names
    compared = _select_comparable(texts, None if graded else names)
    right = texts.keep(compared)
    scores = None
    columns: dict[str, Any]
    if graded:
        predicted = classifier.scores(texts.first, texts.second)
        columns = {"prediction": predicted}
        if len(right):
            scores = compare_scores(predicted[compared], np.array(right.targets))
    else:
        if multi_label:
            probabilities = classifier.label_probabilities(texts.first, texts.second)
            chosen = probabilities >= settings.threshold
            columns = {"prediction": [list(compress(names, row)) for row in chosen]}
        else:
            predicted_classes, probabilities = classifier.classes(texts.first, texts.second)
            chosen = np.array([[name == predicted for name in names] for predicted in predicted_classes])
            columns = {"prediction": predicted_classes}
        columns["probability"] = list(probabilities)
        if len(right):
            scores = compare_classes(chosen[compared], right.class_matrix(names), names, multi_label=multi_label)
    for name, values in columns.items():
        if name in table.column_names:
            raise InputError(f"the data has a column {name}", path=settings.data, remedy="rename it")
        table = table.append_column(name, pa.array(values))
    return table, {"rows": table.num_rows, "split": split, "scores": scores}


def _select_comparable(texts: LabelledTexts, classes: list[str] | None) -> np.ndarray:
    """Return which rows have a score or a class of the model (rows,), bool; log the number of other rows."""
    if not texts.targets:
        return np.zeros(len(texts), bool)
    has_target = np.array([target is not None for target in texts.targets])
    if not has_target.all():
        log(f"{(~has_target).sum():,} rows without a label or score are not compared")
    if classes is None or not (unknown := texts.names.difference(classes)):
        return has_target
    is_comparable = np.array([unknown.isdisjoint(target or ()) for target in texts.targets])
    log(f"{(~is_comparable).sum():,} rows are not compared: `{min(unknown)[:80]}` is no class of the model")
    return np.asarray(has_target & is_comparable)

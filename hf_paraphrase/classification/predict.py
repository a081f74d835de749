"""The recipe of the verb `predict`: a supervised model applied to a split, and compared with the right answers."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from ..artefacts.artefact import Artefact, Card
from ..artefacts.card_heads import class_names
from ..artefacts.provenance import inherited_metadata
from ..artefacts.remote_paths import to_path
from ..data.folder import DataFolder, write_split
from ..errors import InputError, UsageError
from ..messages import log
from ..settings import recipe, setting
from ..training.devices import DeviceSettings
from .tasks import class_scores, graded_scores, label_scores, read_labelled, score_table


@dataclass(kw_only=True)
class PredictionSettings(DeviceSettings):
    """Apply a model of `train-supervised` to a split of a data folder.

    Where the split has classes or scores, accuracy and F1, or Pearson, Spearman and the squared error go to standard
    output. Where a text may have several labels, its prediction is a list, and `probability` has that of every label
    of the model, in the order of the model's `id2label`.
    """

    model: str = setting("the folder of a model made by train-supervised", path=True)
    data: str = setting(
        "data folder, or a CSV, JSON lines or Parquet file (of the split train): sentences or pairs as in training",
        path=True,
        dataset=True,
    )
    split: str = setting("the split", "test")
    text_column: str | None = setting("the column of texts [default: sentence1 and sentence2, or text]", None)
    target_column: str | None = setting(
        "the column of classes or scores [default: label or score, if it exists]",
        None,
        names=["--target-column", "--label-column"],
    )
    label_separator: str | None = setting("separator of several labels of a text, as in training", None)
    threshold: float = setting("the minimum probability of a label, if a text may have several", 0.5, above=0, below=1)
    output: str = setting("output data folder: the split with the columns prediction and, for classes, probability")
    overwrite: bool = setting("replace existing predictions", False)


@recipe(PredictionSettings)
def predict(settings: PredictionSettings) -> dict[str, Any]:
    """Applies a model of `train-supervised` to a split of a data folder, and compares where there are right answers.

    Returns:
        The number of `rows`, and in `scores` how good the predictions are; None where the right answers are unknown.
    """
    with Artefact(
        settings.output,
        command="predict",
        settings=settings,
        inputs=[settings.model, settings.data],
        overwrite=settings.overwrite,
    ) as artefact:
        table, scores = _predict(settings)
        write_split(artefact.staging, settings.split, [table], table.schema)
        values = {
            **inherited_metadata(Path(settings.data)),
            "model": to_path(settings.model).resolve().name,
            "data": to_path(settings.data).resolve().name,
            "split": settings.split,
            "num_rows": table.num_rows,
            "table": None if scores is None else score_table({settings.split: scores}),
        }
        results = {"rows": table.num_rows, "scores": scores}
        artefact.finish(results=results, card=Card("predictions", values))
    log(f"{table.num_rows:,} predictions saved to {settings.output}")
    return results


def _predict(settings: PredictionSettings) -> tuple[pa.Table, dict[str, Any] | None]:
    from .sentence_classifier import SentenceJudge

    judge = SentenceJudge.from_pretrained(settings.model, device=settings.device)
    objective = judge.model.config.objective
    graded, multi_label = objective in {"distribution", "regression"}, objective == "multi_label"
    if not multi_label and (settings.label_separator is not None or settings.threshold != 0.5):
        raise UsageError("--label-separator and --threshold need a model of several labels", remedy="leave both out")
    table = DataFolder(settings.data).table(settings.split)
    column = settings.target_column
    if column is None:
        likely = "score" if graded else "label"
        column = likely if likely in table.column_names else None
    if column in table.column_names and not graded:
        has_lists = settings.label_separator is not None or pa.types.is_nested(table.schema.field(column).type)
        if has_lists != multi_label:
            kinds = ("several labels", "one class") if multi_label else ("one class", "several labels")
            problem = f"the model gives {kinds[0]} per text, but the column {column} has {kinds[1]}"
            raise InputError(problem, path=settings.data, remedy="name what separates labels by --label-separator")
    named = [] if column is None or graded else class_names(settings.data, column, settings.split)
    reading = {"text_column": settings.text_column, "separator": settings.label_separator}
    texts = read_labelled(settings.data, settings.split, column=column, graded=graded, names=named, **reading)
    if (texts.second is not None) != judge.model.config.pairs:
        wanted = "pairs (sentence1, sentence2)" if judge.model.config.pairs else "single sentences"
        raise InputError(f"the model judges {wanted}", path=settings.data, remedy="give data as in training")
    scores = None
    columns: dict[str, Any]
    if graded:
        columns = {"prediction": judge.scores(texts.first, texts.second)}
        if column is not None:
            scores = graded_scores(columns["prediction"], np.array(texts.targets))
    elif multi_label:
        probabilities, names = judge.label_probabilities(texts.first, texts.second), judge.class_names
        likely_labels = probabilities >= settings.threshold
        lists = [list(compress(names, row)) for row in likely_labels]
        columns = {"prediction": lists, "probability": list(probabilities)}
        if column is not None:
            scores = label_scores(likely_labels, texts.class_numbers(names) > 0, names)
    else:
        found, probabilities = judge.classes(texts.first, texts.second)
        columns = {"prediction": found, "probability": probabilities}
        if column is not None:
            numbers = {name: number for number, name in enumerate(judge.class_names)}
            right = texts.class_numbers(judge.class_names)
            scores = class_scores(np.array([numbers[name] for name in found]), right, len(numbers))
    for name, values in columns.items():
        if name in table.column_names:
            raise InputError(f"the data has a column {name}", path=settings.data, remedy="rename it")
        table = table.append_column(name, pa.array(values))
    return table, scores

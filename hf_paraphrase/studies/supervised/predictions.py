"""The recipe of the verb `predict`: a supervised model applied to a split, and compared with the right answers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from ...artefacts.artefact import Artefact, Card
from ...artefacts.card_heads import class_names
from ...artefacts.cards import add_results, check_evaluated_card
from ...artefacts.provenance import fingerprint, inherited_metadata, versions
from ...artefacts.remote_paths import to_path
from ...data.folder import DataFolder, write_split
from ...errors import InputError, UsageError
from ...messages import log
from ...settings import recipe, setting
from ...tables import harmless_markdown
from ...training.devices import DeviceSettings
from .labelled_texts import CLASSES, SCORES, LabelledTexts, read_labelled
from .scores import class_scores, graded_scores, score_measurements, score_table

if TYPE_CHECKING:
    from .sentence_classification import SentenceJudge

CARD_SECTION = "hf-paraphrase predict"
"""The name of the section that `--update-card` writes, in the comments that enclose it."""


@dataclass(kw_only=True)
class PredictionSettings(DeviceSettings):
    """Applies a model of `train-supervised` to a split of a data folder.

    Where the split has classes or scores, accuracy and F1, or Pearson, Spearman and the squared error go to standard
    output; --output takes the predictions themselves, as a data folder.
    """

    model: str = setting("the folder of a model that train-supervised made", path=True)
    data: str = setting(
        "data folder with sentence1 and sentence2, or sentence1 or text alone, as in training", path=True
    )
    split: str = setting("the split", "test")
    target_column: str | None = setting(
        "the column of classes or scores [default: entailment, label or score, if there]", None
    )
    output: str | None = setting(
        "the data folder to make: the split with the columns prediction and, of classes, its probability", None
    )
    overwrite: bool = setting("replace existing predictions", False)
    update_card: bool = setting(
        "put the table into a section of the model's card README.md and the results into the card's model-index and "
        "provenance.json; earlier ones of the same split are replaced",
        False,
    )


@dataclass(frozen=True)
class Predictions:
    """The predictions of a model for a split.

    Attributes:
        table: The rows of the split with the columns `prediction` and, of classes, `probability`.
        scores: How good they are; None where the right answers are not known.
    """

    table: pa.Table
    scores: dict[str, Any] | None


@recipe(PredictionSettings)
def predict(settings: PredictionSettings) -> Predictions:
    """Applies a model of `train-supervised` to a split of a data folder, and compares where there are right answers.

    Returns:
        The predictions and, where the right answers are known, how good they are.
    """
    if settings.update_card:
        check_evaluated_card(settings.model)
    if settings.output is None:
        return _predict(settings)
    with Artefact(
        settings.output,
        command="predict",
        settings=settings,
        inputs=[settings.model, settings.data],
        overwrite=settings.overwrite,
    ) as artefact:
        found = _predict(settings)
        write_split(artefact.staging, settings.split, [found.table], found.table.schema)
        table = None if found.scores is None else score_table({settings.split: found.scores})
        values = {
            **inherited_metadata(Path(settings.data)),
            "model": to_path(settings.model).resolve().name,
            "data": to_path(settings.data).resolve().name,
            "split": settings.split,
            "num_rows": found.table.num_rows,
            "table": table,
        }
        artefact.finish(
            results={"rows": found.table.num_rows, "scores": found.scores},
            card=Card("predictions", values),
        )
    log(f"{found.table.num_rows:,} predictions saved to {settings.output}")
    return found


def _predict(settings: PredictionSettings) -> Predictions:
    from .sentence_classification import SentenceJudge

    judge = SentenceJudge.from_pretrained(settings.model, device=settings.device)
    texts, column = _texts(settings, judge)
    if column is None and settings.output is None:
        raise UsageError(
            "predict: the data has no classes or scores to compare with, and there is no --output",
            remedy="give --output DIR, or --target-column",
        )
    if column is None and settings.update_card:
        raise UsageError("predict: --update-card needs classes or scores to compare with")
    if (texts.second is not None) != judge.judges_pairs:
        wanted = "pairs (sentence1, sentence2)" if judge.judges_pairs else "single sentences"
        raise InputError(f"the model judges {wanted}", path=settings.data, remedy="give data as in training")
    # Before the work, during which a file may change.
    sha256 = fingerprint(settings.data) if settings.update_card else ""
    found = _judged(judge, texts)
    if settings.update_card and found.scores is not None:
        _update_card(settings, found.scores, column, sha256)
    return found


def _texts(settings: PredictionSettings, judge: SentenceJudge) -> tuple[LabelledTexts, str | None]:
    """Reads the split and says in which column its classes or scores are, if anywhere."""
    present = DataFolder(settings.data).schema(settings.split).names
    column = settings.target_column
    if column is None:
        likely = ("score",) if judge.gives_scores else ("entailment", "label") if judge.judges_pairs else ("label",)
        column = next((name for name in likely if name in present), None)
    elif column not in present:
        raise InputError(
            f"split `{settings.split}` has no column {column}",
            path=settings.data,
            remedy=f"the columns are {', '.join(present)}",
        )
    kind = SCORES if judge.gives_scores else CLASSES
    names = [] if column is None or kind == SCORES else class_names(settings.data, column, settings.split)
    return read_labelled(settings.data, settings.split, column=column, kind=kind, names=names), column


def _judged(judge: SentenceJudge, texts: LabelledTexts) -> Predictions:
    """Applies the model, and compares where the right answers are known."""
    from .sentence_classification import predicted_classes, predicted_scores

    config: Any = judge.model.config
    names = [config.id2label[number] for number in range(config.num_labels)]
    right: Any = None
    if texts.targets is not None:
        numbers = {name: place for place, name in enumerate(names)}
        right = np.array(texts.targets) if judge.gives_scores else texts.class_numbers(numbers)
    logits = judge.logits(texts.first, texts.second)
    if judge.gives_scores:
        found: Any = predicted_scores(judge.model, logits)
        columns = {"prediction": pa.array(found)}
        scores = None if right is None else graded_scores(found, right)
    else:
        found, probabilities = predicted_classes(logits)
        columns = {"prediction": pa.array([names[number] for number in found]), "probability": pa.array(probabilities)}
        scores = None if right is None else class_scores(found, right, names)
    table = DataFolder(texts.folder).table(texts.split)
    for name, column in columns.items():
        if name in table.column_names:
            raise InputError(f"the data has a column {name}", path=texts.folder, remedy="rename it")
        table = table.append_column(name, column)
    return Predictions(table, scores)


def _update_card(settings: PredictionSettings, table: dict[str, Any], column: str | None, sha256: str) -> None:
    data = Path(settings.data)
    name = f"{data.resolve().name}/{settings.split}"
    evaluation = {
        "kind": "predict",
        "data": data.resolve().name,
        "split": settings.split,
        "column": column,
        "scores": table,
        "inputs": [{"name": data.resolve().name, "sha256": sha256}],
        "settings": settings.record(),
        "versions": versions(),
    }
    made = f"Written by `hf-paraphrase predict` on {harmless_markdown(name)}."
    text = f"## Evaluation\n\n{made}\n\n{score_table({settings.split: table})}"
    measured = score_measurements(table, data.resolve().name, settings.split)
    add_results(settings.model, f"predict {name}", evaluation, measured, section=CARD_SECTION, text=text)
    log(f"results in {Path(settings.model) / 'README.md'}")

"""The recipe of the verb `predict`: a supervised model applied to a split, and compared with the right answers."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...artefacts.artefact import output_files
from ...artefacts.card_heads import class_names
from ...artefacts.cards import add_results, check_evaluated_card
from ...artefacts.files import write_text_whole
from ...artefacts.provenance import fingerprint, versions
from ...data.folder import DataFolder
from ...errors import InputError, UsageError
from ...messages import log
from ...settings import recipe, setting
from ...tables import harmless_markdown
from ...training.devices import DeviceSettings
from .labelled_texts import CLASSES, SCORES, LabelledTexts, read_labelled
from .scores import ClassScores, GradedScores, score_measurements, score_table
from .tasks import class_numbers

if TYPE_CHECKING:
    from .sentence_classification import SentenceJudge

CARD_SECTION = "hf-paraphrase predict"
"""The name of the section that `--update-card` writes, in the comments that enclose it."""


@dataclass(kw_only=True)
class PredictionSettings(DeviceSettings):
    """Applies a model of `train-supervised` to a split of a data folder.

    Where the split has classes or scores, accuracy and F1, or Pearson, Spearman and the squared error go to standard
    output; --output takes the predictions themselves, a row each.
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
        "a TSV file for the predictions: row, prediction, its probability (of classes), and what the data says", None
    )
    overwrite: bool = setting("replace an existing predictions file", False)
    update_card: bool = setting(
        "put the table into a section of the model's card README.md and the results into the card's model-index and "
        "provenance.json; earlier ones of the same split are replaced",
        False,
    )


@dataclass(frozen=True)
class Predictions:
    """The predictions of a model for a split.

    Attributes:
        text: The predictions as tab-separated lines with a header.
        scores: The fields of `ClassScores` or `GradedScores`; None where the right answers are not known.
    """

    text: str
    rows: int
    scores: dict[str, Any] | None


@recipe(PredictionSettings)
def predict(settings: PredictionSettings) -> Predictions:
    """Applies a model of `train-supervised` to a split of a data folder, and compares where there are right answers.

    Returns:
        The predictions and, where the right answers are known, how good they are.
    """
    with output_files(settings.output, overwrite=settings.overwrite):
        if settings.update_card:
            check_evaluated_card(settings.model)
        return _predict(settings)


def _predict(settings: PredictionSettings) -> Predictions:
    from .sentence_classification import SentenceJudge

    judge = SentenceJudge.from_pretrained(settings.model, device=settings.device)
    texts, column = _texts(settings, judge)
    if column is None and settings.output is None:
        raise UsageError(
            "predict: the data has no classes or scores to compare with, and there is no --output",
            remedy="give --output FILE.tsv, or --target-column",
        )
    if column is None and settings.update_card:
        raise UsageError("predict: --update-card needs classes or scores to compare with")
    if (texts.second is not None) != judge.judges_pairs:
        wanted = "pairs (sentence1, sentence2)" if judge.judges_pairs else "single sentences"
        raise InputError(f"the model judges {wanted}", path=settings.data, remedy="give data as in training")
    # Before the work, during which a file may change.
    sha256 = fingerprint(settings.data) if settings.update_card else ""
    predicted, table = _judged(judge, texts)
    if settings.output is not None:
        write_text_whole(settings.output, predicted)
        log(f"{len(texts):,} predictions in {settings.output}")
    if settings.update_card and table is not None:
        _update_card(settings, table, column, sha256)
    return Predictions(predicted, len(texts), table)


def _texts(settings: PredictionSettings, judge: SentenceJudge) -> tuple[LabelledTexts, str | None]:
    """Reads the split and says in which column its classes or scores are, if anywhere."""
    present = DataFolder(settings.data).schema(settings.split).names
    column = settings.target_column
    if column is None:
        likely = ("score",) if judge.gives_scores else _class_columns(judge)
        column = next((name for name in likely if name in present), None)
    elif column not in present:
        raise InputError(
            f"split `{settings.split}` has no column {column}",
            path=settings.data,
            remedy=f"the columns are {', '.join(present)}",
        )
    if judge.gives_scores:
        return read_labelled(settings.data, settings.split, column=column, kind=SCORES), column
    names = [] if column is None else class_names(settings.data, column, settings.split)
    return read_labelled(settings.data, settings.split, column=column, kind=CLASSES, names=names), column


def _class_columns(judge: SentenceJudge) -> tuple[str, ...]:
    return ("entailment", "label") if judge.judges_pairs else ("label",)


def _judged(judge: SentenceJudge, texts: LabelledTexts) -> tuple[str, dict[str, Any] | None]:
    """Applies the model; returns the predictions as TSV and, where the right answers are known, the scores."""
    from .sentence_classification import predicted_classes, predicted_scores

    config: Any = judge.model.config
    names = [config.id2label[number] for number in range(config.num_labels)]
    numbers = None
    if texts.targets is not None and not judge.gives_scores:
        numbers = class_numbers(texts, {name: place for place, name in enumerate(names)})
    logits = judge.logits(texts.first, texts.second)
    stream = io.StringIO()
    table: dict[str, Any] | None = None
    given = [None] * len(texts) if texts.targets is None else texts.targets
    if judge.gives_scores:
        scores = predicted_scores(judge.model, logits)
        stream.write("row\tprediction" + ("" if texts.targets is None else "\tgiven") + "\n")
        for row, score, right in zip(texts.rows, scores, given, strict=True):
            stream.write(f"{row}\t{score:.4f}" + ("" if right is None else f"\t{right:g}") + "\n")
        if texts.targets is not None:
            table = vars(GradedScores.of(scores, np.array(texts.targets, np.float64)))
    else:
        class_ids, probabilities = predicted_classes(logits)
        stream.write("row\tprediction\tprobability" + ("" if texts.targets is None else "\tgiven") + "\n")
        for row, number, probability, right in zip(texts.rows, class_ids, probabilities, given, strict=True):
            stream.write(f"{row}\t{names[number]}\t{probability:.4f}" + ("" if right is None else f"\t{right}") + "\n")
        if numbers is not None:
            table = vars(ClassScores.of(class_ids, numbers, names))
    return stream.getvalue(), table


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

"""The supervised tasks of paper 001: settings, sentences or pairs with classes or scores, and how good a model is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, compress
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..artefacts.card_heads import Measurement, class_names
from ..artefacts.hub_models import BUILTIN
from ..data.folder import DataFolder
from ..data.row_selection import hold_out
from ..data.schema import require_texts
from ..errors import InputError, UsageError
from ..settings import setting
from ..tables import format_table, number
from ..text.hashing import draw_keys
from ..training.run import TrainingRunSettings
from ..vectors.metrics import correlations

Scores = dict[str, Any]
TRAIN, DEV, TEST = "train", "dev", "test"
_DRAW_SEED = 1
"""Not the seed of the training: runs with several seeds have the same dev part."""
OBJECTIVES = {"classification": "classification", "similarity": "distribution", "regression": "regression"}
"""The tasks, and what the model of each is trained for; with several labels a text a `multi_label` model."""
CRITERIA = {"accuracy": "accuracy", "micro_f1": "micro F1 × 100", "pearson": "Pearson × 100"}
"""What an epoch is chosen by, whichever of them the scores have."""
_HEADERS = {
    "accuracy": {"accuracy": "accuracy (%)", "baseline": "most frequent class (%)", "macro_f1": "macro F1 × 100"},
    "micro_f1": {"micro_f1": "micro F1 × 100", "baseline": "most frequent label", "macro_f1": "macro F1 × 100"},
    "pearson": {
        "pearson": "Pearson × 100",
        "spearman": "Spearman × 100",
        "mse": "squared error",
        "baseline": "of the mean score",
    },
}


@dataclass(kw_only=True)
class SupervisedSettings(TrainingRunSettings):
    """Train a head on an encoder, and the encoder with it, on classes or scores (paper 001, "Supervised Learning").

    The encoder is held close to its own parameters by --lambda-w and --lambda-c; with both 0 it is fine-tuned freely,
    with --freeze-encoder not at all, and --from-scratch starts from random parameters of the same architecture. The
    data has sentence1 and optionally sentence2 (or text), and a column of classes or scores. The epoch is chosen on
    the dev part, by accuracy or Pearson's r. A text may have several labels, or none, if the column has lists, or with
    --label-separator: each label has a sigmoid, and the epoch is chosen by micro F1.
    """

    model: str = setting("the folder of the pretrained encoder, of any type", BUILTIN, path=True)
    data: str = setting(
        "data folder, e.g. of prepare sick, transfer or stsbenchmark, or a CSV, JSON lines or Parquet file",
        path=True,
        dataset=True,
    )
    task: str = setting(
        "classification, similarity (scores as a distribution over the whole numbers of a scale) or regression "
        "(scores, by squared error), of sentences or pairs",
        "classification",
        choices=tuple(OBJECTIVES),
    )
    text_column: str | None = setting("the column of texts [default: sentence1 and sentence2, or text]", None)
    target_column: str | None = setting(
        "the column of classes or scores [default: label or score, by the task]",
        None,
        names=["--target-column", "--label-column"],
    )
    label_separator: str | None = setting(
        "separator of several labels of a text, e.g. '|' in a CSV file; a column of lists needs none", None
    )
    train_split: str = setting("the split to train on; of a configuration, e.g. mr.train", "train")
    dev_split: str | None = setting(
        "the split to choose the epoch on [default: validation or dev if it exists and is not the test split, else a "
        "fraction of the training split]",
        None,
    )
    test_split: str | None = setting("a split to report on; it is not used to choose", None)
    dev_share: float = setting(
        "fraction of the training split to draw if there is no dev split", 0.1, above=0, below=1
    )
    lowest_score: int = setting("the low end of the scale, for similarity", 1)
    highest_score: int = setting("the high end of the scale, for similarity", 5)
    from_scratch: bool = setting("start from random parameters instead of the encoder's", False)
    initial_vectors: str | None = setting(
        "with --from-scratch, initial word vectors: GloVe or word2vec text, or a model folder",
        None,
        only_with="from_scratch",
        path=True,
    )
    freeze_encoder: bool = setting("train the head alone", False, excludes=("from_scratch", "lambda_w", "lambda_c"))
    lambda_w: float = setting(
        "weight of half the squared distance of the word vectors from their start", 0.0, at_least=0
    )
    lambda_c: float = setting("like --lambda-w, for the other parameters of the encoder", 0.0, at_least=0)
    epochs: int = setting("passes over the training part", 10, above=0)
    batch_size: int = setting("rows per batch and process", 25, above=0)
    learning_rate: float | None = setting(
        "learning rate of Adam, constant [default: 0.01 with --freeze-encoder, else 0.001; 2e-5 for a transformer]",
        None,
        above=0,
    )

    def check(self) -> None:
        """Checks that the settings are valid."""
        super().check()
        if self.label_separator is not None and self.task != "classification":
            raise UsageError("--label-separator is for --task classification", remedy="leave it out")
        named = [name for name in (self.train_split, self.dev_split, self.test_split) if name is not None]
        if len(set(named)) < len(named):
            raise UsageError("--train-split, --dev-split and --test-split must be different")
        if not self.highest_score > self.lowest_score:
            raise UsageError("--highest-score must be above --lowest-score")
        if self.from_scratch and (self.lambda_c or (self.lambda_w and self.initial_vectors is None)):
            raise UsageError(
                "with --from-scratch there is nothing pretrained to stay close to",
                remedy="leave --lambda-c out, and --lambda-w unless --initial-vectors is given",
            )


@dataclass
class LabelledTexts:
    """Rows of a split: `first`, of pairs `second`, and perhaps `targets`: names, tuples of names, or scores."""

    folder: str
    split: str
    first: list[str]
    second: list[str] | None = None
    targets: list[Any] = field(default_factory=list)
    multi_label: bool = False

    def __len__(self) -> int:
        return len(self.first)

    def keep(self, kept: NDArray[np.bool_]) -> LabelledTexts:
        """Keeps some of the rows (rows,)."""
        given = {"first": self.first, "second": self.second, "targets": self.targets}
        sides: dict[str, Any] = {name: values and list(compress(values, kept)) for name, values in given.items()}
        return replace(self, **sides)

    @property
    def keys(self) -> NDArray[np.uint64]:
        """A number for each row, the same for sentences that differ in case and superfluous space only (rows,)."""
        sides = self.first, self.second or [""] * len(self)
        return draw_keys(*(pa.array([" ".join(text.lower().split()) for text in side]) for side in sides))

    @property
    def names(self) -> list[str]:
        """The classes or labels that are given, each as often as it is."""
        return list(chain.from_iterable(self.targets)) if self.multi_label else self.targets

    def class_numbers(self, classes: Sequence[str]) -> NDArray[Any]:
        """Returns the numbers of the classes, int64 (rows,), or 1 for the labels of a row, float32 (rows, labels)."""
        numbers = {name: number for number, name in enumerate(classes)}
        if unknown := [name for name in self.names if name not in numbers]:
            remedy = f"the classes are {', '.join(list(numbers)[:20])}"
            raise self.error(f"the class {unknown[0][:80]} is unknown", remedy)
        if self.multi_label:
            return np.array([[name in given for name in classes] for given in self.targets], np.float32)
        return np.array([numbers[name] for name in self.targets], np.int64)

    def error(self, text: str, remedy: str) -> InputError:
        """Makes an error about the split."""
        return InputError(f"split `{self.split}`: {text}", path=self.folder, remedy=remedy)


def read_labelled(
    folder: str,
    split: str,
    *,
    column: str | None,
    graded: bool = False,
    names: Sequence[str] = (),
    text_column: str | None = None,
    separator: str | None = None,
) -> LabelledTexts:
    """Reads a split with sentences and a column of targets.

    Sentences are in the column that is named, else in `sentence1` and perhaps `sentence2`, or in `text`. `names` are
    those of classes that are given as numbers from 0; without them a class is named by its number. A row has several
    labels where the column has lists, or texts with `separator` between the labels.
    """
    if separator == "":
        raise UsageError("--label-separator is empty", remedy="give a character, or leave it out")
    opened = DataFolder(folder)
    schema = opened.schema(split)
    sides = ["sentence1"] if {"sentence1", "sentence2"} & set(schema.names) else ["text"]
    sides += ["sentence2"] if "sentence2" in schema.names else []
    sides = sides if text_column is None else [text_column]
    require_texts(schema, folder, sides)
    columns = opened.table(split, [*sides, *([] if column is None else [column])]).to_pydict()
    texts = LabelledTexts(folder, split, *(columns[side] for side in sides))
    is_nested = column is not None and pa.types.is_nested(schema.field(column).type)
    texts.multi_label = separator is not None or is_nested
    if not len(texts):
        raise texts.error("no rows", "give a split with rows")
    for side in sides:
        if None in columns[side]:
            row = columns[side].index(None)
            raise texts.error(f"row {row} has no text in column {side}", "fix or remove the row")
    for row, value in enumerate(columns[column] if column is not None else ()):
        if texts.multi_label and not graded:
            # An empty field of a CSV file is None.
            labels = [] if value is None else value.split(separator) if isinstance(value, str) else value
            labels = labels if isinstance(labels, list) else [labels]
            found = (_class_name(texts, row, column, label, names) for label in labels)
            texts.targets.append(tuple(dict.fromkeys(filter(None, map(str.strip, found)))))
        elif not graded:
            texts.targets.append(_class_name(texts, row, column, value, names))
        elif isinstance(value, (int, float)) and np.isfinite(value):
            texts.targets.append(float(value))
        else:
            raise texts.error(f"row {row}: the {column} is {value}, not a number", "fix or remove the row")
    return texts


def _class_name(texts: LabelledTexts, row: int, column: str | None, value: Any, names: Sequence[str]) -> str:
    if isinstance(value, str):
        return value
    is_number = isinstance(value, (int, float)) and bool(np.isfinite(value))
    if not is_number or value != int(value) or not 0 <= value < (len(names) or np.inf):
        remedy = "fix the row; a task of scores is --task similarity or regression"
        raise texts.error(f"row {row}: the {column} is {value!r}, not a class", remedy)
    return names[int(value)] if names else str(int(value))


@dataclass
class SupervisedData:
    """The parts of a supervised set, and from which split each is; the names of the classes, if there are some.

    Training rows that are rows of another part are left out, so many.
    """

    parts: dict[str, LabelledTexts]
    sources: dict[str, str]
    column: str
    classes: list[str]
    left_out: int


def read_supervised(settings: SupervisedSettings) -> SupervisedData:
    """Reads, or draws, the parts of a supervised set and checks that something can be learned."""
    split, graded = settings.train_split, settings.task != "classification"
    opened = DataFolder(settings.data)
    column = settings.target_column or ("score" if graded else "label")
    if column not in (present := opened.schema(split).names):
        remedy = f"name it with --target-column; the columns are {', '.join(present)}"
        raise InputError(f"split `{split}` has no column {column}", path=settings.data, remedy=remedy)
    names = class_names(settings.data, column, split)
    read = partial(read_labelled, settings.data, column=column, graded=graded, names=names)
    read = partial(read, text_column=settings.text_column, separator=settings.label_separator)
    train = read(split)
    if settings.label_separator is not None and all(len(given) < 2 for given in train.targets):
        what = f"no row has several labels with {settings.label_separator!r} between them"
        raise train.error(what, "give another --label-separator, or none where each text has one class")
    parts = {TEST: read(settings.test_split)} if settings.test_split is not None else {}
    unused = [name for name in opened.splits if name not in {settings.test_split, split}]
    dev = settings.dev_split or next((name for name in ("validation", "dev") if name in unused), None)
    if dev is not None:
        parts[DEV] = read(dev)
    else:
        drawn = hold_out(train.keys, round(settings.dev_share * len(train)), _DRAW_SEED)
        if drawn.all() or not drawn.any():
            what = f"{len(train)} rows are too few to draw {settings.dev_share:.0%} of them"
            raise train.error(what, "give more data, or --dev-split")
        train, parts[DEV] = train.keep(~drawn), train.keep(drawn)
    kept = train.keep(~np.isin(train.keys, np.concatenate([part.keys for part in parts.values()])))
    if len(set(kept.targets)) < 2:
        found = f"{len(kept)} rows are in no other part, with {len(set(kept.targets))} classes or scores"
        raise kept.error(f"{found}: there is nothing to learn", "give rows of different classes or scores")
    if kept.multi_label and len(set(kept.names)) < 2:
        raise kept.error("there is one label only", "give two classes instead, one of them for rows without it")
    parts = {TRAIN: kept, **parts}
    sources = {part: texts.split for part, texts in parts.items()}
    if dev is None:
        sources[DEV] = f"{settings.dev_share:.0%} of {split}, drawn"
    low, high = settings.lowest_score, settings.highest_score
    for part in parts.values() if settings.task == "similarity" else ():
        if off := [score for score in part.targets if not low <= score <= high]:
            remedy = "fix the row, or give the scale with --lowest-score and --highest-score"
            raise part.error(f"the score {off[0]:g} is off the scale from {low} to {high}", remedy)
    classes = [] if graded else _classes(kept, names)
    return SupervisedData(parts, sources, column, classes, len(train) - len(kept))


def _classes(train: LabelledTexts, names: list[str]) -> list[str]:
    """Lists the classes: those that the card names, else those of the training part, numbers in their order."""
    present = set(train.names)
    are_numbers = all(name.isdecimal() for name in present)
    classes = names or sorted(present, key=(lambda name: (int(name), name)) if are_numbers else None)
    if empty := [name for name in classes if name not in present]:
        remedy = "give training rows of every class, or leave the class out of the data"
        raise train.error(f"no row of the class {', '.join(empty)}", remedy)
    return classes


def class_scores(predicted: NDArray[np.int64], right: NDArray[np.int64], num_classes: int) -> Scores:
    """Compares the numbers of the classes that were found with the right ones, both (rows,), in per cent.

    `baseline` is the accuracy of always giving the most frequent class, `macro_f1` the mean over the classes that
    occur, given or found.
    """
    given = np.bincount(right, minlength=num_classes)
    hits = np.bincount(right[predicted == right], minlength=num_classes)
    both = given + np.bincount(predicted, minlength=num_classes)
    return {
        "accuracy": 100.0 * float((predicted == right).mean()),
        "baseline": 100.0 * float(given.max() / len(right)),
        "macro_f1": 100.0 * float((2 * hits[both > 0] / both[both > 0]).mean()),
        "rows": len(right),
    }


def label_scores(predicted: NDArray[np.bool_], right: NDArray[np.bool_], labels: Sequence[str]) -> Scores:
    """Compares the labels that were found with the right ones, both (rows, labels), as F1 × 100.

    `micro_f1` counts all labels together, `macro_f1` is the mean over the labels that occur, given or found, and
    `f1` that of each; `baseline` is the micro F1 of always giving the most frequent label.
    """
    given, hits = right.sum(0), (predicted & right).sum(0)
    both = given + predicted.sum(0)
    each = {name: 200.0 * float(hits[i] / both[i]) for i, name in enumerate(labels) if both[i]}
    return {
        "micro_f1": 200.0 * float(hits.sum() / max(both.sum(), 1)),
        "baseline": 200.0 * float(given.max() / (len(right) + given.sum())),
        "macro_f1": float(np.mean(list(each.values()) or [0.0])),
        "rows": len(right),
        "f1": each,
    }


def graded_scores(predicted: NDArray[np.float64], right: NDArray[np.float64]) -> Scores:
    """Compares the scores that were found with the right ones, both (rows,).

    Correlations × 100, which are 0 where all found or all given scores are equal; the mean squared error, and as
    `baseline` that of always giving the mean score.
    """
    pearson, spearman, _ = correlations(predicted, right)
    return {
        "pearson": pearson,
        "spearman": spearman,
        "mse": float(((predicted - right) ** 2).mean()),
        "baseline": float(right.var()),
        "rows": len(right),
    }


def score_measurements(scores: Mapping[str, Any], data: str, split: str, note: str = "") -> list[Measurement]:
    """Describes scores as measurements."""
    names = {
        "accuracy": ("accuracy", f"accuracy (%{note})"),
        "micro_f1": ("f1", f"micro F1 × 100{note}"),
        "macro_f1": ("f1", f"macro F1 × 100{note}"),
        "pearson": ("pearsonr", f"Pearson × 100{note}"),
        "spearman": ("spearmanr", f"Spearman × 100{note}"),
        "mse": ("mse", f"mean squared error{note}"),
    }
    graded = "pearson" in scores
    return [
        Measurement(
            task="sentence-similarity" if graded else "text-classification",
            dataset=data,
            split=split,
            metric=metric,
            value=scores[key],
            name=name,
            task_name="Scores of sentences or pairs" if graded else "Text classification",
        )
        for key, (metric, name) in names.items()
        if key in scores
    ]


def score_table(parts: Mapping[str, Mapping[str, Any]]) -> str:
    """Formats what was measured on some parts."""
    headers = next(_HEADERS[name] for name in CRITERIA if name in next(iter(parts.values())))
    squared = {"mse", "baseline"} if "mse" in headers else set()
    rows = []
    for part, scores in parts.items():
        values = [f"{scores[key]:.3f}" if key in squared else number(scores[key]) for key in headers]
        rows.append([part, *values, f"{scores['rows']:,}"])
    return format_table(["part", *headers.values(), "rows"], rows)

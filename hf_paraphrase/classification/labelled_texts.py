"""The settings of `train-supervised`, and its data: sentences or pairs with classes, labels or scores, in parts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, compress
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..artefacts.hub_models import BUILTIN
from ..data.folder import DataFolder
from ..data.pair_rows import is_missing
from ..data.row_selection import hold_out
from ..data.schema import require_texts, with_class_names
from ..errors import InputError, UsageError
from ..settings import setting
from ..text.hashing import draw_keys
from ..training.run import TrainingRunSettings

TRAIN, DEV, TEST = "train", "dev", "test"
_DRAW_SEED = 1
"""Not the seed of the training: runs with several seeds have the same dev part."""
OBJECTIVES = {"classification": "classification", "similarity": "distribution", "regression": "regression"}
"""The tasks, and the objective of the model of each; a task with several labels per text is `multi_label`."""


@dataclass(kw_only=True)
class SupervisedSettings(TrainingRunSettings):
    """Train a head on an encoder, and the encoder with it, on classes or scores (Gimpel et al.).

    The head of single sentences starts from the optimum for the pretrained encoder. --row-penalty, --lambda-w and
    --lambda-c keep the encoder close to its initial parameters; with all three 0 it is fine-tuned freely, with
    --freeze-encoder not at all, and --from-scratch starts from random parameters of the same architecture. The data
    has sentence1 and optionally sentence2 (or text), and a column of classes or scores. The epoch is chosen on the dev
    part, by accuracy or Pearson's r. If the column has lists, or with --label-separator, a text may have several
    labels or none: each label has a sigmoid, and the epoch is chosen by micro F1.
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
    train_split: str = setting("the split to train on, with its configuration if any, e.g. mr.train", "train")
    dev_split: str | None = setting(
        "the split to choose the epoch on [default: validation or dev if it exists and is not the test split, else a "
        "fraction of the training split]",
        None,
    )
    test_split: str | None = setting("a split to report scores on; it never influences the training", None)
    dev_share: float = setting("fraction of the training split to draw without a dev split", 0.1, above=0, below=1)
    lowest_score: int = setting("the low end of the scale, for similarity", 1)
    highest_score: int = setting("the high end of the scale, for similarity", 5)
    from_scratch: bool = setting("start from random parameters instead of the encoder's", False)
    initial_vectors: str | None = setting(
        "with --from-scratch, initial word vectors: GloVe or word2vec text, or a model folder",
        None,
        only_with="from_scratch",
        path=True,
    )
    freeze_encoder: bool = setting(
        "train the head alone, to convergence: for classes a logistic regression on the embeddings",
        False,
        excludes=("from_scratch", "lambda_w", "lambda_c", "epochs", "batch_size", "learning_rate", "report_to"),
    )
    lambda_w: float = setting(
        "weight of half the squared distance of the word vectors from their start", 0.0, at_least=0
    )
    row_penalty: float | None = setting(
        "like --lambda-w, but each update counts only the word vectors of its batch, which is faster [default: 0.001 "
        "for an encoder with word vectors, without --lambda-w and --from-scratch]",
        None,
        at_least=0,
        excludes=("lambda_w", "from_scratch", "freeze_encoder"),
    )
    lambda_c: float = setting("like --lambda-w, for all other parameters of the encoder", 0.0, at_least=0)
    epochs: int | None = setting(
        "passes over the rows [default: 3, or 10 for pairs, under 1,000 rows or --from-scratch]", None, above=0
    )
    batch_size: int = setting("rows per batch and process", 25, above=0)
    learning_rate: float | None = setting("learning rate [default: 0.001, or 2e-5 for a transformer]", None, above=0)
    lr_scheduler: str | None = setting(
        "schedule of the learning rate [default: linear, or constant for pairs or --from-scratch]",
        None,
        choices=("constant", "linear", "cosine"),
        excludes="freeze_encoder",
    )

    def check(self) -> None:
        """Check that the settings are valid."""
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
    """Rows of a split: `first` texts, for pairs `second` texts, and optional `targets`: tuples of classes, or scores.

    The target of a row without one is None, if the reader permits that.
    """

    folder: str
    split: str
    first: list[str]
    second: list[str] | None = None
    targets: list[Any] = field(default_factory=list)
    multi_label: bool = False

    def __len__(self) -> int:
        return len(self.first)

    def keep(self, kept: NDArray[np.bool_]) -> LabelledTexts:
        """Return the rows where `kept` (rows,) is true."""
        second = None if self.second is None else list(compress(self.second, kept))
        first, targets = list(compress(self.first, kept)), list(compress(self.targets, kept))
        return replace(self, first=first, second=second, targets=targets)

    @property
    def keys(self) -> NDArray[np.uint64]:
        """Hashes of the rows, equal for sentences that differ in case and white space only (rows,)."""
        columns = self.first, self.second or [""] * len(self)
        return draw_keys(*(pa.array([" ".join(text.lower().split()) for text in column]) for column in columns))

    @property
    def names(self) -> set[str]:
        """The classes or labels that occur in any row."""
        return set(chain.from_iterable(target or () for target in self.targets))

    def class_matrix(self, classes: Sequence[str]) -> NDArray[np.bool_]:
        """Return which of the classes each row has (rows, classes)."""
        if unknown := sorted(self.names.difference(classes)):
            remedy = f"the classes are {', '.join(classes[:20])}"
            raise self.error(f"the class {unknown[0][:80]} is unknown", remedy)
        return np.array([[name in target for name in classes] for target in self.targets], bool)

    def error(self, text: str, remedy: str) -> InputError:
        """Make an error about the split."""
        return InputError(f"split `{self.split}`: {text}", path=self.folder, remedy=remedy)


def read_labelled(
    folder: str,
    split: str,
    *,
    column: str | None,
    graded: bool = False,
    text_column: str | None = None,
    separator: str | None = None,
    complete: bool = True,
) -> LabelledTexts:
    """Read sentences, and the targets in `column`: classes, several labels per text, or `graded` scores.

    The sentences are in `text_column`, by default in `sentence1` and perhaps `sentence2`, or in `text`. Class numbers
    are replaced by the names in the card of the data; booleans are the classes True and False. A row without a text or
    a target is an error if `complete`; otherwise the text is empty and the target None.
    """
    if separator == "":
        raise UsageError("--label-separator is empty", remedy="give a character, or leave it out")
    opened = DataFolder(folder)
    schema = opened.schema(split)
    sides = [name for name in ("sentence1", "sentence2") if name in schema.names] or ["text"]
    sides = sides if text_column is None else [text_column]
    columns = [*sides, *([] if column is None else [column])]
    for name in columns:
        if name not in schema.names:
            remedy = f"name it with --text-column or --target-column; the columns are {', '.join(schema.names)}"
            raise InputError(f"split `{split}` has no column {name}", path=folder, remedy=remedy)
    require_texts(schema, folder, sides)
    table = opened.table(split, columns) if graded else with_class_names(opened.table(split, columns))
    sentences = [table.column(side).cast(pa.string()).to_pylist() for side in sides]
    texts = LabelledTexts(folder, split, *sentences)
    if not len(texts):
        raise texts.error("no rows", "give a split with rows")
    for side, values in zip(sides, sentences, strict=True) if complete else ():
        if None in values:
            raise texts.error(f"row {values.index(None) + 1} has no text in column {side}", "fix or remove the row")
    texts.first = [text or "" for text in texts.first]
    texts.second = None if texts.second is None else [text or "" for text in texts.second]
    if column is None:
        return texts
    texts.multi_label = not graded and (separator is not None or pa.types.is_nested(schema.field(column).type))
    for row, value in enumerate(table.column(column).to_pylist()):
        if not complete and (value is None or (not texts.multi_label and is_missing(value))):
            texts.targets.append(None)
        elif graded:
            texts.targets.append(_parse_score(texts, row, column, value))
        elif not texts.multi_label:
            texts.targets.append((_name_class(texts, row, column, value),))
        else:
            # An empty field of a CSV file is None.
            labels = value.split(separator) if isinstance(value, str) else value or []
            labels = labels if isinstance(labels, list) else [labels]
            stripped = (_name_class(texts, row, column, label).strip() for label in labels)
            texts.targets.append(tuple(dict.fromkeys(filter(None, stripped))))
    return texts


def _parse_score(texts: LabelledTexts, row: int, column: str, value: Any) -> float:
    try:
        score = math.nan if "_" in str(value) else float(value)  # CSV files have texts, and Python reads `1_0` as 10
    except (TypeError, ValueError):
        score = math.nan
    if isinstance(value, bool) or not math.isfinite(score):
        raise texts.error(f"row {row + 1}: the {column} is {value}, not a number", "fix or remove the row")
    return score


def _name_class(texts: LabelledTexts, row: int, column: str, value: Any) -> str:
    if isinstance(value, bool) or (isinstance(value, str) and (texts.multi_label or value.strip())):
        return str(value)
    is_number = isinstance(value, (int, float)) and bool(np.isfinite(value))
    if not is_number or value != int(value):
        remedy = "fix the row; a task of scores is --task similarity or regression"
        raise texts.error(f"row {row + 1}: the {column} is {value!r}, not a class", remedy)
    return str(int(value))


@dataclass
class SupervisedData:
    """The parts of a supervised set.

    Attributes:
        parts: The rows of each part.
        sources: The split that each part comes from.
        column: The column of targets.
        classes: The names of the classes; empty for scores.
        left_out: The number of training rows that were left out because they also occur in another part.
    """

    parts: dict[str, LabelledTexts]
    sources: dict[str, str]
    column: str
    classes: list[str]
    left_out: int


def read_supervised(settings: SupervisedSettings) -> SupervisedData:
    """Read or draw the parts of a supervised set, and check that they can train a model."""
    split, graded = settings.train_split, settings.task != "classification"
    column = settings.target_column or ("score" if graded else "label")
    read = partial(read_labelled, settings.data, column=column, graded=graded)
    read = partial(read, text_column=settings.text_column, separator=settings.label_separator)
    train = read(split)
    if settings.label_separator is not None and all(len(target) < 2 for target in train.targets):
        problem = f"no row has several labels with {settings.label_separator!r} between them"
        raise train.error(problem, "give another --label-separator, or none where each text has one class")
    parts = {TEST: read(settings.test_split)} if settings.test_split is not None else {}
    opened = DataFolder(settings.data)
    unused = [name for name in opened.splits if name not in {settings.test_split, split}]
    dev = settings.dev_split or next((name for name in ("validation", "dev") if name in unused), None)
    if dev is not None:
        parts[DEV] = read(dev)
    else:
        drawn = _draw_dev_rows(train, settings.dev_share)
        train, parts[DEV] = train.keep(~drawn), train.keep(drawn)
    kept = train.keep(~np.isin(train.keys, np.concatenate([part.keys for part in parts.values()])))
    if len(set(kept.targets)) < 2:
        problem = f"{len(kept)} rows are in no other part, with {len(set(kept.targets))} classes or scores"
        raise kept.error(f"{problem}: there is nothing to learn", "give rows of different classes or scores")
    if kept.multi_label and len(kept.names) < 2:
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
    classes = [] if graded else _list_classes(kept, opened.class_names(column, split))
    return SupervisedData(parts, sources, column, classes, len(train) - len(kept))


def _draw_dev_rows(train: LabelledTexts, dev_share: float) -> NDArray[np.bool_]:
    """Draw the rows of the dev part (rows,), bool; equal texts are never separated."""
    keys = train.keys
    drawn = hold_out(keys, round(dev_share * len(train)), _DRAW_SEED)
    if drawn.any():
        return drawn
    # Every text occurs more often than rows are requested, or there are few rows: draw the rarest text.
    distinct, counts = np.unique(keys, return_counts=True)
    if len(distinct) < 2:
        problem = f"all {len(train)} rows are the same text, so no dev part can be drawn"
        raise train.error(problem, "give more data, or --dev-split")
    return np.asarray(keys == distinct[counts.argmin()])


def _list_classes(train: LabelledTexts, names: list[str]) -> list[str]:
    """List the classes: the given names, or the sorted classes of the training part (numbers by value)."""
    present = train.names
    are_numbers = all(name.removeprefix("-").isdecimal() for name in present)
    classes = names or sorted(present, key=(lambda name: (int(name), name)) if are_numbers else None)
    if empty := [name for name in classes if name not in present]:
        remedy = "give training rows of every class, or leave the class out of the data"
        raise train.error(f"no row of the class {', '.join(empty)}", remedy)
    return classes

"""The supervised tasks of paper 001: their settings, and what is read of a data folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ...artefacts.card_heads import class_names
from ...artefacts.hub_models import BUILTIN
from ...data.folder import DataFolder
from ...errors import InputError, UsageError
from ...settings import setting
from ...training.run import TrainingRunSettings
from .labelled_texts import CLASSES, SCORES, LabelledTexts, draw_apart, read_labelled, without_rows_of

TRAIN, DEV, TEST = "train", "dev", "test"
_DRAW_SEED = 1
"""Not the seed of the training: runs with several seeds have the same dev part."""


OBJECTIVES = {"classification": "classification", "similarity": "distribution", "regression": "regression"}
"""The tasks, and what the model of each is trained for."""


@dataclass(kw_only=True)
class SupervisedSettings(TrainingRunSettings):
    """Trains a head on an encoder, and the encoder with it, on classes or scores (paper 001, "Supervised Learning").

    The encoder is held close to its own parameters by --lambda-w and --lambda-c; with both 0 it is fine-tuned freely,
    with --freeze-encoder not at all, and --from-scratch starts from random parameters of the same architecture. The
    data has sentence1 and perhaps sentence2 (or text), and a column of classes or scores. The epoch is chosen on the
    dev part, by accuracy or Pearson's r.
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
    train_split: str = setting("the split to train on; a configuration's is called e.g. mr.train", "train")
    dev_split: str | None = setting(
        "the split to choose the epoch on [default: validation or dev if there and not the test split, else a share "
        "of the training split]",
        None,
    )
    test_split: str | None = setting("a split to report on; it chooses nothing", None)
    dev_share: float = setting(
        "share of the training split to draw where there is no dev split", 0.1, above=0, below=1
    )
    lowest_score: int = setting("the low end of the scale, for similarity", 1)
    highest_score: int = setting("the high end of the scale, for similarity", 5)
    from_scratch: bool = setting("start from random parameters instead of the encoder's", False)
    initial_vectors: str | None = setting(
        "with --from-scratch, word vectors to start from: GloVe or word2vec text, or a model folder",
        None,
        only_with="from_scratch",
        path=True,
    )
    freeze_encoder: bool = setting("train the head alone", False, excludes=("from_scratch", "lambda_w", "lambda_c"))
    lambda_w: float = setting(
        "weight of half the squared distance of the word vectors from their start", 0.0, at_least=0
    )
    lambda_c: float = setting("weight of half that of the encoder's other parameters", 0.0, at_least=0)
    epochs: int = setting("passes over the training part", 10, above=0)
    batch_size: int = setting("rows in a batch on each process", 25, above=0)
    learning_rate: float = setting("learning rate of Adam, constant", 1e-3, above=0)

    def check(self) -> None:
        """Checks that the settings are valid."""
        super().check()
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
class SupervisedData:
    """The parts of a supervised set.

    Attributes:
        sources: Where each part is from: its split, or the share of a split.
        classes: The names of the classes; empty for scores.
        left_out: How many training rows were left out because they are a row of the dev or the test part.
    """

    parts: dict[str, LabelledTexts]
    sources: dict[str, str]
    column: str
    classes: list[str]
    left_out: int

    @property
    def pairs(self) -> bool:
        """Whether the rows are pairs."""
        return self.parts[TRAIN].second is not None


def read_supervised(settings: SupervisedSettings) -> SupervisedData:
    """Reads, or draws, the parts of a supervised set and checks that something can be learned.

    The dev split that is not named is `validation` or `dev` if it is there and not the test split, else a share of
    the training split is drawn.
    """
    folder, split = Path(settings.data), settings.train_split
    opened = DataFolder(folder)
    kind = CLASSES if settings.task == "classification" else SCORES
    column = settings.target_column or ("label" if kind == CLASSES else "score")
    if column not in (present := opened.schema(split).names):
        remedy = f"name it with --target-column; the columns are {', '.join(present)}"
        raise InputError(f"split `{split}` has no column {column}", path=folder, remedy=remedy)
    names = class_names(folder, column, split)

    def read(name: str) -> LabelledTexts:
        column_of_texts = settings.text_column
        return read_labelled(folder, name, column=column, kind=kind, names=names, text_column=column_of_texts)

    train = read(split)
    parts: dict[str, LabelledTexts] = {}
    if settings.test_split is not None:
        parts[TEST] = read(settings.test_split)
    unused = [name for name in opened.splits if name not in {settings.test_split, split}]
    dev = settings.dev_split or next((name for name in ("validation", "dev") if name in unused), None)
    if dev is not None:
        parts[DEV] = read(dev)
    else:
        train, parts[DEV] = draw_apart(train, settings.dev_share, _DRAW_SEED)
    kept = without_rows_of(train, list(parts.values()))
    sources = {TRAIN: split, **{part: texts.split for part, texts in parts.items()}}
    if dev is None:
        sources[DEV] = f"{settings.dev_share:.0%} of {split}, drawn"
    if len(set(kept.targets)) < 2:
        found = f"{len(kept)} rows are in no other part, with {len(set(kept.targets))} classes or scores"
        raise kept.error(f"{found}: there is nothing to learn", "give rows of different classes or scores")
    data = SupervisedData({TRAIN: kept, **parts}, sources, column, [], len(train) - len(kept))
    if kind == CLASSES:
        data.classes = _classes(kept, names)
    elif settings.task == "similarity":
        for part in data.parts.values():
            _check_scale(part, settings)
    return data


def _check_scale(part: LabelledTexts, settings: SupervisedSettings) -> None:
    low, high = settings.lowest_score, settings.highest_score
    for score in part.targets:
        if not low <= score <= high:
            remedy = "fix the row, or give the scale with --lowest-score and --highest-score"
            raise part.error(f"the score {score:g} is off the scale from {low} to {high}", remedy)


def _classes(train: LabelledTexts, names: list[str]) -> list[str]:
    """Lists the classes: those that the card names, else those of the training part, numbers in their order."""
    present = set(train.targets)
    are_numbers = all(name.isdecimal() for name in present)
    classes = names or sorted(present, key=(lambda name: (int(name), name)) if are_numbers else None)
    if empty := [name for name in classes if name not in present]:
        remedy = "give training rows of every class, or leave the class out of the data"
        raise train.error(f"no row of the class {', '.join(empty)}", remedy)
    return classes

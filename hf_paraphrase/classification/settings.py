"""The settings of the command `train-supervised`."""

from __future__ import annotations

from dataclasses import dataclass

from ..artefacts.hub_models import BUILTIN
from ..errors import UsageError
from ..settings import setting
from ..training.run import TrainingRunSettings

OBJECTIVES = {"classification": "classification", "similarity": "distribution", "regression": "regression"}
"""The tasks, and the objective of the model of each; a task with several labels per text is `multi_label`."""


@dataclass(kw_only=True)
class SupervisedSettings(TrainingRunSettings):
    """Train a head on an encoder, and the encoder with it, on classes or scores (Gimpel et al.).

    The head of single sentences starts from the optimum for the pretrained encoder. In training the encoder is held
    close to its own parameters by --row-penalty, --lambda-w and --lambda-c; with all three 0 it is fine-tuned freely,
    with --freeze-encoder not at all, and --from-scratch starts from random parameters of the same architecture. The
    data has sentence1 and optionally sentence2 (or text), and a column of classes or scores. The epoch is chosen on
    the dev part, by accuracy or Pearson's r. A text may have several labels, or none, if the column has lists, or
    with --label-separator: each label has a sigmoid, and the epoch is chosen by micro F1.
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
    freeze_encoder: bool = setting(
        "train the head alone, to convergence: for classes a logistic regression on the embeddings",
        False,
        excludes=("from_scratch", "lambda_w", "lambda_c", "epochs", "batch_size", "learning_rate", "report_to"),
    )
    lambda_w: float = setting(
        "weight of half the squared distance of the word vectors from their start", 0.0, at_least=0
    )
    row_penalty: float | None = setting(
        "like --lambda-w, but each update counts only the word vectors of its batch, which is faster [default: 0.01 "
        "for an encoder with word vectors, without --lambda-w and --from-scratch]",
        None,
        at_least=0,
        excludes=("lambda_w", "from_scratch", "freeze_encoder"),
    )
    lambda_c: float = setting("like --lambda-w, for all other parameters of the encoder", 0.0, at_least=0)
    epochs: int = setting("passes over the training part", 10, above=0)
    batch_size: int = setting("rows per batch and process", 25, above=0)
    learning_rate: float | None = setting(
        "learning rate of Adam, constant [default: 0.001, and 2e-5 for a transformer]",
        None,
        above=0,
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

"""The suite `classification`: accuracy and F1 of a logistic regression on fixed vectors of labelled texts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..artefacts.card_heads import Measurement
from ..data.records import read_records
from ..data.text_blocks import kind_of_records
from ..data.text_files import StrictLines
from ..errors import InputError
from .baselines import Scorer, encode_once
from .classifiers import FOLDS, PENALTIES, SEED, check_enough, check_sklearn, predict_classes
from .suite import Benchmark, Scores, Suite, one_folder

if TYPE_CHECKING:
    from .evaluate_settings import EvaluateSettings

_COLUMNS = {"text": "text", "label": "label"}


def read_labelled_texts(path: Path) -> tuple[list[str], list[str]]:
    """Reads the columns `text` and `label` of a file: CSV with commas, semicolons or tabs, JSON lines or Parquet."""
    texts, labels = [], []
    for lines, block in read_records(path, kind_of_records(path) or "csv", _COLUMNS, StrictLines()):
        for line, text, label in zip(lines, block["text"].to_pylist(), block["label"].to_pylist(), strict=True):
            if not label:
                raise InputError("a row without a label", path=path, line=int(line), remedy="fix the line")
            texts.append(text or "")
            labels.append(label)
    return texts, labels


def _read(settings: EvaluateSettings) -> Benchmark:
    source = one_folder(settings)
    check_sklearn()
    paths = [source]
    if source.is_dir():
        paths = [next(iter(sorted(source.glob(f"{part}.*"))), source / f"{part}.csv") for part in ("train", "test")]
    parts = [read_labelled_texts(path) for path in paths]
    classes, numbers = np.unique([label for _, labels in parts for label in labels], return_inverse=True)
    gold = np.split(numbers, [len(parts[0][1])])
    check_enough(gold[0], 2 * FOLDS, source.name, paths[0])
    has_test = len(paths) > 1
    if has_test and not len(gold[1]):
        raise InputError("the file contains no rows", path=paths[1], remedy="add rows, or give the other file alone")
    tested_on = "test" if has_test else f"{FOLDS} folds"

    def measure(scorer: Scorer) -> Scores:
        from sklearn.metrics import f1_score

        vectors = encode_once(scorer.encode, [text for texts, _ in parts for text in texts])
        features = [vectors(texts) for texts, _ in parts]
        predictions, dev = predict_classes(features[0], gold[0], features[1] if has_test else None)
        tested = gold[1] if has_test else gold[0]
        f1 = float(f1_score(tested, predictions, average="macro", zero_division=0))
        record = {"accuracy": 100 * float((predictions == tested).mean()), "f1": 100 * f1, "dev_accuracy": 100 * dev}
        measurements = tuple(
            Measurement("text-classification", source.stem, key, record[key], title, "Classification", split=tested_on)
            for key, title in (("accuracy", "accuracy (%)"), ("f1", "macro F1 × 100"))
        )
        return Scores(scorer.name, scorer.kind, record, measurements)

    return Benchmark(
        measure,
        inputs=paths,
        protocol="logistic regression on fixed sentence vectors; the F1 is the mean over the classes",
        facts={
            "classes": len(classes),
            "examples": [len(labels) for _, labels in parts],
            "tested_on": tested_on,
            "classifier": {"folds": FOLDS, "penalties": list(PENALTIES), "seed": SEED},
        },
        name=f"classification {source.resolve().name}",
        trained="a regression was trained on top of fixed vectors",
    )


CLASSIFICATION = Suite(_read, section="hf-paraphrase evaluate: classification", heading="Evaluation: classification")

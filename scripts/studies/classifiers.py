"""Compare classifiers of sentences on TREC, MR, CR and SUBJ: with 20 rows per class, and with all rows.

    python scripts/studies/classifiers.py DATA [--tasks TREC CR] [--model builtin] [--few-seeds 3] [--model2vec]

DATA is a folder with the transfer tasks of SentEval. TREC has a test part; a tenth of the rows of the remaining tasks
is held out. The table has the accuracy in per cent of TF-IDF with the logistic regression of scikit-learn, of
`train-supervised` with a frozen and a fine-tuned encoder, and with --model2vec of model2vec's own classifier.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from hf_paraphrase import train_supervised
from hf_paraphrase.evaluation.transfer_tasks import find_transfer_tasks
from hf_paraphrase.tables import format_table

Rows = tuple[list[str], list[str]]
FEW = 20


def read_task(folder: Path, name: str) -> tuple[Rows, Rows]:
    """Read the training and the test rows of a task."""
    parts = find_transfer_tasks(folder, [name])[0][name]
    texts, labels = parts["train"].sides[0], [str(label) for label in parts["train"].gold]
    if "test" in parts:
        return (texts, labels), (parts["test"].sides[0], [str(label) for label in parts["test"].gold])
    order = np.random.default_rng(0).permutation(len(texts)).tolist()
    held_out, kept = order[: len(texts) // 10], order[len(texts) // 10 :]
    train, test = (([texts[row] for row in rows], [labels[row] for row in rows]) for rows in (kept, held_out))
    return train, test


def draw_few(rows: Rows, seed: int) -> Rows:
    """Draw 20 rows of each class."""
    generator, labels = np.random.default_rng(seed), np.array(rows[1])
    drawn: list[int] = []
    for label in sorted({*rows[1]}):
        own = np.flatnonzero(labels == label)
        drawn += generator.choice(own, min(FEW, len(own)), replace=False).tolist()
    return [rows[0][row] for row in drawn], [rows[1][row] for row in drawn]


def predict_tfidf(train: Rows, texts: Sequence[str]) -> Sequence[str]:
    """Classify by TF-IDF of words and a logistic regression with scikit-learn's defaults."""
    return make_pipeline(TfidfVectorizer(), LogisticRegression(max_iter=1000)).fit(*train).predict(texts).tolist()


def predict_ours(model: str, **options: Any) -> Callable[[Rows, Sequence[str]], Sequence[str]]:
    """Make a function that classifies by `train-supervised`."""

    def predict(train: Rows, texts: Sequence[str]) -> Sequence[str]:
        data = [{"text": text, "label": label} for text, label in zip(*train, strict=True)]
        with tempfile.TemporaryDirectory() as folder:
            return train_supervised(model=model, data=data, output=f"{folder}/model", **options).classes(texts)[0]

    return predict


def predict_model2vec(train: Rows, texts: Sequence[str]) -> Sequence[str]:
    """Classify by the classifier of model2vec on its model potion-base-8M, which must be in the cache."""
    from model2vec.train import StaticModelForClassification

    classifier = StaticModelForClassification.from_pretrained(model_name="minishlab/potion-base-8M")
    return classifier.fit(*train).predict(list(texts)).tolist()


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--tasks", nargs="+", default=["TREC", "MR", "CR", "SUBJ"])
    parser.add_argument("--model", default="builtin")
    parser.add_argument("--few-seeds", type=int, default=3)
    parser.add_argument("--model2vec", action="store_true")
    options = parser.parse_args(arguments)
    methods = {
        "TF-IDF": predict_tfidf,
        "frozen": predict_ours(options.model, freeze_encoder=True),
        "fine-tuned": predict_ours(options.model),
        **({"model2vec": predict_model2vec} if options.model2vec else {}),
    }
    rows = []
    for name in options.tasks:
        train, (texts, right) = read_task(options.data, name)
        few = [draw_few(train, seed) for seed in range(options.few_seeds)]
        for label, draws in ((f"{FEW} per class", few), (f"{len(train[0]):,}", [train])):
            cells = []
            for predict in methods.values():
                found = [np.mean(np.array(predict(draw, texts)) == np.array(right)) for draw in draws]
                cells.append(f"{100 * np.mean(found):.1f}")
            rows.append([name, label, f"{len(texts):,}", *cells])
            print(" ".join(rows[-1]), flush=True)
    print(format_table(["task", "training rows", "test rows", *methods], rows))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

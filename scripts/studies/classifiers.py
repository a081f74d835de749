"""Compare classifiers of sentences on TREC, MR, CR and SUBJ: with 20 rows per class, and with all rows.

    python scripts/studies/classifiers.py DATA [--tasks TREC CR] [--model builtin] [--folds 5] [--few-seeds 3]

DATA is a folder with the transfer tasks of SentEval. TREC has a test part. The remaining tasks are divided into
stratified folds, which are the same for every classifier; few rows are tested on a tenth that is held out. The table
has the accuracy in per cent of TF-IDF with the logistic regression of scikit-learn, of `train-supervised` with a
frozen and a fine-tuned encoder, and with --model2vec of model2vec's own classifier, and how far fine-tuning is above
TF-IDF. Standard errors are over folds or draws; for a difference on a test part, over its rows.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline

from hf_paraphrase import train_supervised
from hf_paraphrase.evaluation.transfer_tasks import find_transfer_tasks
from hf_paraphrase.tables import format_table

Rows = tuple[list[str], list[str]]
FEW = 20


def read_task(folder: Path, name: str, folds: int = 0) -> list[tuple[Rows, Rows]]:
    """Read training and test rows of a task: its own parts, the parts of each fold, or nine tenths and a tenth."""
    parts = find_transfer_tasks(folder, [name])[0][name]
    texts, labels = parts["train"].sides[0], [str(label) for label in parts["train"].gold]
    if "test" in parts:
        return [((texts, labels), (parts["test"].sides[0], [str(label) for label in parts["test"].gold]))]
    order = np.random.default_rng(0).permutation(len(texts))
    splits = [(order[len(texts) // 10 :], order[: len(texts) // 10])]
    if folds:
        splits = list(StratifiedKFold(folds, shuffle=True, random_state=0).split(texts, labels))
    return [(select_rows((texts, labels), train), select_rows((texts, labels), test)) for train, test in splits]


def select_rows(rows: Rows, numbers: Iterable[int]) -> Rows:
    """Select rows by their numbers."""
    return [rows[0][row] for row in numbers], [rows[1][row] for row in numbers]


def draw_few(rows: Rows, seed: int) -> Rows:
    """Draw 20 rows of each class."""
    generator, labels = np.random.default_rng(seed), np.array(rows[1])
    drawn: list[int] = []
    for label in sorted({*rows[1]}):
        own = np.flatnonzero(labels == label)
        drawn += generator.choice(own, min(FEW, len(own)), replace=False).tolist()
    return select_rows(rows, drawn)


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


def format_mean(values: Sequence[float]) -> str:
    """Format a mean in per cent with its standard error, which a single value does not have."""
    error = f" ± {100 * np.std(values, ddof=1) / len(values) ** 0.5:.1f}" if len(values) > 1 else ""
    return f"{100 * np.mean(values):.1f}{error}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--tasks", nargs="+", default=["TREC", "MR", "CR", "SUBJ"])
    parser.add_argument("--model", default="builtin")
    parser.add_argument("--folds", type=int, default=5)
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
        [(train, test)] = read_task(options.data, name)
        few = [(draw_few(train, seed), test) for seed in range(options.few_seeds)]
        splits = read_task(options.data, name, options.folds)
        tested = sum(len(texts) for _, (texts, _) in splits)
        sizes = (f"{FEW} per class", len(test[0])), (f"{len(splits[0][0][0]):,}", tested)
        for (label, size), runs in zip(sizes, (few, splits), strict=True):
            if not runs:
                continue
            right = {
                method: [np.equal(predict(drawn, texts), gold).astype(float) for drawn, (texts, gold) in runs]
                for method, predict in methods.items()
            }
            gaps = [ours - theirs for ours, theirs in zip(right["fine-tuned"], right["TF-IDF"], strict=True)]
            cells = [format_mean([run.mean() for run in values]) for values in right.values()]
            cells.append(format_mean([gap.mean() for gap in gaps] if len(gaps) > 1 else gaps[0]))
            rows.append([name, label, f"{size:,}", *cells])
            print(" ".join(rows[-1]), flush=True)
    print(format_table(["task", "training rows", "test rows", *methods, "difference"], rows))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

"""Trains supervised models in the four ways of paper 001 with several seeds, and prints one table, drawn too.

Each cell is `train-supervised` on a task with an encoder: from scratch with random word vectors (the first seed only)
or given ones, fine-tuned freely, and fine-tuned with the regulariser, its weight (lambda_w = lambda_c) chosen on the
dev part with the first seed, among the given ones and some beyond their ends until the best lies inside. MR and CR
have no parts of their own: a tenth is drawn to be tested on. What is said of each row of the test part is noted, so
that intervals are over seeds and rows (`evaluation/verdicts.py`), those with a common sentence drawn together. What is
finished is noted in a file, so an interrupted study continues where it was.

    python scripts/studies/supervised_runs.py --sick DIR --transfer DIR --encoders avg=DIR gran=DIR \
        --initial-vectors FILE --output DIR
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from finished_runs import append_row, read_rows
from hf_paraphrase.artefacts.artefact import Artefact
from hf_paraphrase.artefacts.card_heads import class_names
from hf_paraphrase.artefacts.provenance import fingerprint
from hf_paraphrase.data.folder import DataFolder, write_split
from hf_paraphrase.evaluation.verdicts import Interval, difference, spread
from hf_paraphrase.studies.supervised.labelled_texts import draw_apart, read_labelled
from interval_picture import draw_intervals
from judged_sets import JudgedPairs, Numbers, share, weighted_pearson
from quiet_verbs import run_verb

TEST_SHARE = 0.1
TASKS: dict[str, tuple[str, str, list[str]]] = {
    "SICK-R": ("", "validation", ["--task", "similarity", "--epochs", "5"]),
    "SICK-E": ("", "validation", ["--task", "entailment", "--epochs", "5"]),
    "MR": ("mr.train", "test", ["--epochs", "2"]),
    "CR": ("cr.train", "test", ["--epochs", "4"]),
}
"""Of each task the split of the transfer tasks that is parted, if it is none of SICK, the test split, and flags."""
COMMON = ["--dev-share", "0.1", "--batch-size", "50", "--learning-rate", "5e-3"]
MOST_STEPS = 3
RANDOM, VECTORS, FREE, REGULARIZED = "from scratch", "from scratch, word vectors", "fine-tuned", "regularised"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sick", required=True, help="the data folder of prepare sick")
    parser.add_argument("--transfer", required=True, help="the data folder of prepare transfer")
    parser.add_argument("--encoders", nargs="+", required=True, help="NAME=DIR of each pretrained encoder")
    parser.add_argument("--initial-vectors", required=True, help="the word vectors that the encoders started from")
    parser.add_argument("--tasks", nargs="+", default=list(TASKS), choices=list(TASKS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2, 3, 4])
    parser.add_argument("--lambdas", nargs="+", type=float, default=[1e-5, 1e-4, 1e-3])
    parser.add_argument(
        "--output", required=True, type=Path, help="a folder for results.jsonl, table.md and supervised.png"
    )
    return parser.parse_args()


class Task:
    """A task with its test part."""

    def __init__(self, name: str, options: argparse.Namespace) -> None:
        self.name = name
        whole, self.test_split, self.flags = TASKS[name]
        self.graded = name == "SICK-R"
        self.folder = Path(options.sick)
        if whole:
            self.folder = options.output / "data" / name
            if not self.folder.exists():
                part(Path(options.transfer), whole, self.folder)
        self.print = fingerprint(self.folder)
        test = read_labelled(self.folder, self.test_split, column=None)
        second = test.first if test.second is None else test.second
        gold = DataFolder(self.folder).table(self.test_split, ["score"]).column(0).to_numpy() if self.graded else None
        self.test = JudgedPairs(test.first, second, np.ones(len(test)) if gold is None else gold)

    def replicates(self, said: Sequence[float]) -> Numbers:
        """Computes the measure × 100 in bootstrap replicates of the test part (replicates,)."""
        of = weighted_pearson if self.graded else share
        return 100 * of(np.array(said, np.float64), self.test.gold, self.test.counts)


def part(folder: Path, split: str, output: Path) -> None:
    """Writes a data folder in which a tenth of a split is the test part; equal rows stay together."""
    texts, table = read_labelled(folder, split, column="label"), DataFolder(folder).table(split)
    with Artefact(output, command="supervised_runs", settings={}) as artefact:
        for name, rows in zip(("train", "test"), draw_apart(texts, TEST_SHARE, 0), strict=True):
            write_split(artefact.staging, name, [table.take(rows.rows)], table.schema)
        artefact.finish()


class Study:
    """Runs cells, each once, and keeps what they gave."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.tasks = {name: Task(name, options) for name in options.tasks}
        self.vectors = fingerprint(options.initial_vectors)
        self.record = options.output / "results.jsonl"
        self.known = read_rows(self.record)

    def run(self, name: str, encoder: str, folder: str, content: str, way: str, seed: int, weight: float) -> Any:
        """Trains one model and returns what was measured, unless that is known already."""
        task = self.tasks[name]
        words = ["--test-split", task.test_split, *task.flags, *COMMON, "--seed", str(seed)]
        if way == RANDOM:
            words.append("--from-scratch")
        elif way == VECTORS:
            words += ["--from-scratch", "--initial-vectors", str(self.options.initial_vectors)]
        elif way == REGULARIZED:
            words += ["--lambda-w", str(weight), "--lambda-c", str(weight)]
        key = [name, content, task.print, self.vectors if way == VECTORS else "", words]
        row = self.known.get(json.dumps(key))
        if row is None:
            output = self.options.output / "model"
            common = ["--model", folder, "--data", str(task.folder), "--output", str(output), "--overwrite"]
            run_verb("train-supervised", *common, *words)
            results = json.loads((output / "provenance.json").read_text(encoding="utf-8"))["results"]
            measured = {part: results[part]["pearson" if task.graded else "accuracy"] for part in ("dev", "test")}
            row = {"key": key, "task": name, "encoder": encoder, "way": way, "seed": seed, "weight": weight}
            row |= {**measured, "epoch": results["best_epoch"], "floor": results["test"]["floor"]}
            row["said"] = self._said(task, output)
            shutil.rmtree(output)
            append_row(self.record, row)
            self.known[json.dumps(key)] = row
        return row

    def _said(self, task: Task, model: Path) -> list[float]:
        """Tells of each test row the predicted score, or 1 where the class is right and 0 where it is not."""
        path = self.options.output / "said"
        data = ["--data", str(task.folder), "--split", task.test_split]
        run_verb("predict", "--model", str(model), *data, "--output", str(path), "--overwrite")
        table = DataFolder(path).table(task.test_split)
        predicted = table.column("prediction").to_pylist()
        if task.graded:
            return [float(score) for score in predicted]
        column = "entailment" if "entailment" in table.column_names else "label"
        names = class_names(task.folder, column, task.test_split)
        right = read_labelled(task.folder, task.test_split, column=column, names=names).targets or []
        return [float(one == other) for one, other in zip(predicted, right, strict=True)]

    def dev_score(self, task: str, encoder: str, folder: str, content: str, seed: int, weight: float) -> float:
        """Trains with the regulariser and returns the score on the dev part."""
        return float(self.run(task, encoder, folder, content, REGULARIZED, seed, weight)["dev"])


def best_weight(score: Callable[[float], float], weights: Sequence[float]) -> float:
    """Finds the weight of the highest score, with the grid carried on by tens until the best is at neither end.

    Returns:
        The best weight, the smallest of equal ones; that at an end after :data:`MOST_STEPS` steps beyond it.
    """
    scores = {weight: score(weight) for weight in sorted(weights)}
    for _ in range(MOST_STEPS):
        best = max(sorted(scores), key=scores.__getitem__)
        low, high = min(scores), max(scores)
        if low < best < high:
            break
        # Rounded, because tenths of tenths are no round numbers.
        further = float(f"{low / 10 if best == low else high * 10:.6g}")
        scores[further] = score(further)
    return max(sorted(scores), key=scores.__getitem__)


def compare(rows: list[dict[str, Any]], task: Task, encoder: str, comparisons: int) -> dict[str, Interval]:
    """Computes what regularising gains over the other ways, by these, with intervals over seeds and test rows."""
    mine = [row for row in rows if (row["task"], row["encoder"]) == (task.name, encoder)]
    found = {way: {row["seed"]: row for row in mine if row["way"] == way} for way in (REGULARIZED, FREE, VECTORS)}
    scores = {way: {seed: row["test"] for seed, row in side.items()} for way, side in found.items()}
    drawn = {
        way: np.stack([task.replicates(row["said"]) for row in side.values()], axis=1) for way, side in found.items()
    }
    return {
        way: difference(
            scores[REGULARIZED], scores[way], paired=True, pairs=(drawn[REGULARIZED], drawn[way])
        ).interval(comparisons)
        for way in (FREE, VECTORS)
    }


def table(rows: list[dict[str, Any]], judged: dict[tuple[str, str], dict[str, Interval]]) -> str:
    """Makes a Markdown table, a row a task and encoder, with verdicts on "all models benefit from regularizing"."""
    ways = (RANDOM, VECTORS, FREE, REGULARIZED)
    lines = [
        f"| task | encoder | {' | '.join(ways)} | λ | regularised − fine-tuned | regularised − from scratch |",
        "|---|---|" + "---|" * (len(ways) + 3),
    ]
    for (task, encoder), gains in judged.items():
        mine = [row for row in rows if (row["task"], row["encoder"]) == (task, encoder)]
        cells = [spread([row["test"] for row in mine if row["way"] == way]) for way in ways]
        weights = {row["weight"] for row in mine if row["way"] == REGULARIZED}
        verdicts = [f"{gain.text()} ({gain.verdict('above')})" for gain in gains.values()]
        weight = ", ".join(f"{value:g}" for value in sorted(weights))
        lines.append(f"| {task} | {encoder} | {' | '.join(cells)} | {weight} | {' | '.join(verdicts)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    options = arguments()
    options.output.mkdir(parents=True, exist_ok=True)
    study = Study(options)
    encoders = dict(item.partition("=")[::2] for item in options.encoders)
    contents = {name: fingerprint(folder) for name, folder in encoders.items()}
    done: list[dict[str, Any]] = []
    chosen: dict[tuple[str, str], float] = {}
    # The first seed of everything comes first, so that a study that is cut short covers all tasks.
    for seed in options.seeds:
        for task in options.tasks:
            for name, folder in encoders.items():
                common = (task, name, folder, contents[name])
                # Random word vectors are far behind, which one seed shows.
                first = [RANDOM] if seed == options.seeds[0] else []
                done += [study.run(*common, way, seed, 0.0) for way in (*first, VECTORS, FREE)]
                if (task, name) not in chosen:
                    chosen[task, name] = best_weight(partial(study.dev_score, *common, seed), options.lambdas)
                done.append(study.run(*common, REGULARIZED, seed, chosen[task, name]))
                cells = dict.fromkeys((row["task"], row["encoder"]) for row in done)
                judged = {
                    cell: compare(done, study.tasks[cell[0]], cell[1], 2 * len(study.tasks) * len(encoders))
                    for cell in cells
                }
                text = table(done, judged)
                (options.output / "table.md").write_text(text, encoding="utf-8")
    sys.stdout.write(text)
    rows = [(f"{task}, {encoder}", list(gains.values())) for (task, encoder), gains in judged.items()]
    columns = [f"regularised − {way}" for way in (FREE, VECTORS)]
    draw_intervals(options.output / "supervised.png", rows, columns, "difference, points")


if __name__ == "__main__":
    main()

"""Trains supervised models in the four ways of paper 001 with several seeds, and prints one table.

Each cell is `train-supervised` on a task with an encoder: from scratch with random word vectors (the first seed only)
or given ones, fine-tuned freely, and fine-tuned with the regulariser, its weight (lambda_w = lambda_c) chosen on the
dev part with the first seed, among the given ones and some beyond their ends until the best lies inside. What is
finished is noted in a file, so an interrupted study goes on where it was.

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

from finished_runs import append_row, read_rows
from hf_paraphrase.artefacts.provenance import fingerprint
from hf_paraphrase.commands import main as run_verb
from hf_paraphrase.evaluation.verdicts import difference, spread

SICK = ["--test-split", "validation", "--dev-share", "0.1"]
DRAWN = ["--dev-share", "0.1", "--test-share", "0.1"]
TASKS: dict[str, tuple[str, list[str]]] = {
    "SICK-R": ("sick", ["--task", "similarity", *SICK, "--epochs", "5"]),
    "SICK-E": ("sick", ["--task", "entailment", *SICK, "--epochs", "5"]),
    "MR": ("transfer", ["--train-split", "mr.train", *DRAWN, "--epochs", "2"]),
    "CR": ("transfer", ["--train-split", "cr.train", *DRAWN, "--epochs", "4"]),
}
COMMON = ["--batch-size", "50", "--learning-rate", "5e-3"]
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
    parser.add_argument("--output", required=True, type=Path, help="a folder for results.jsonl and table.md")
    return parser.parse_args()


class Study:
    """Runs cells, each once, and keeps what they gave.

    Args:
        options: The arguments.
    """

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.data = {"sick": options.sick, "transfer": options.transfer}
        self.prints = {name: fingerprint(folder) for name, folder in self.data.items()}
        self.vectors = fingerprint(options.initial_vectors)
        self.record = options.output / "results.jsonl"
        self.known = read_rows(self.record)

    def run(self, task: str, encoder: str, folder: str, content: str, way: str, seed: int, weight: float) -> Any:
        """Trains one model and returns what was measured, unless that is known already."""
        source, flags = TASKS[task]
        words = [*flags, *COMMON, "--seed", str(seed)]
        if way == RANDOM:
            words.append("--from-scratch")
        elif way == VECTORS:
            words += ["--from-scratch", "--initial-vectors", str(self.options.initial_vectors)]
        elif way == REGULARIZED:
            words += ["--lambda-w", str(weight), "--lambda-c", str(weight)]
        key = [task, content, self.prints[source], self.vectors if way == VECTORS else "", words]
        row = self.known.get(json.dumps(key))
        if row is None:
            output = self.options.output / "model"
            common = ["--model", folder, "--data", self.data[source], "--output", str(output), "--overwrite"]
            code = run_verb(["train-supervised", *common, *words])
            if code:
                sys.exit(code)
            results = json.loads((output / "provenance.json").read_text(encoding="utf-8"))["results"]
            shutil.rmtree(output)
            measured = {part: results[part]["pearson" if task == "SICK-R" else "accuracy"] for part in ("dev", "test")}
            row = {
                "key": key,
                "task": task,
                "encoder": encoder,
                "way": way,
                "seed": seed,
                "weight": weight,
                **measured,
            }
            row |= {"epoch": results["best_epoch"], "floor": results["test"]["floor"]}
            append_row(self.record, row)
            self.known[json.dumps(key)] = row
        return row

    def dev_score(self, task: str, encoder: str, folder: str, content: str, seed: int, weight: float) -> float:
        """Trains with the regulariser and returns the score on the dev part."""
        return float(self.run(task, encoder, folder, content, REGULARIZED, seed, weight)["dev"])


def best_weight(score: Callable[[float], float], weights: Sequence[float]) -> float:
    """Finds the weight of the highest score, with the grid carried on by tens until the best is at neither end.

    Args:
        score: Scores a weight.
        weights: The weights to begin with.

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


def table(rows: list[dict[str, Any]], tasks: list[str], encoders: list[str]) -> str:
    """Makes a Markdown table with verdicts, for all rows together, on "all models benefit from regularizing"."""
    ways = (RANDOM, VECTORS, FREE, REGULARIZED)
    lines = [
        f"| task | encoder | {' | '.join(ways)} | λ | regularised − fine-tuned | regularised − from scratch |",
        "|---|---|" + "---|" * (len(ways) + 3),
    ]
    for task in tasks:
        for encoder in encoders:
            mine = [row for row in rows if (row["task"], row["encoder"]) == (task, encoder)]
            found = {way: {row["seed"]: row["test"] for row in mine if row["way"] == way} for way in ways}
            weights = {row["weight"] for row in mine if row["way"] == REGULARIZED}
            cells = [spread(list(found[way].values())) if found[way] else "–" for way in ways]
            comparisons = 2 * len(tasks) * len(encoders)
            verdicts = [_difference(found[REGULARIZED], found[way], comparisons) for way in (FREE, VECTORS)]
            weight = ", ".join(f"{value:g}" for value in sorted(weights))
            lines.append(f"| {task} | {encoder} | {' | '.join(cells)} | {weight} | {' | '.join(verdicts)} |")
    return "\n".join(lines) + "\n"


def _difference(one: dict[int, float], other: dict[int, float], comparisons: int) -> str:
    """Writes the mean difference over the seeds that both have, with its interval over seeds and the verdict.

    How much the test rows happen to matter is not in it.

    Args:
        one: A score by seed.
        other: What it is compared with.
        comparisons: How many differences are judged together.
    """
    if not one.keys() & other.keys():
        return "–"
    interval = difference(one, other, paired=True).interval(comparisons)
    return f"{interval.text()} ({interval.verdict('above')})"


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
                text = table(done, options.tasks, list(encoders))
                (options.output / "table.md").write_text(text, encoding="utf-8")
    sys.stdout.write(text)


if __name__ == "__main__":
    main()

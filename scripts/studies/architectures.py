"""Compare translation models of several architectures that train for the same processor time.

    python scripts/studies/architectures.py BITEXT WORK --epochs 3 --models rnn="..." transformer="..."

`--models` names models and gives each its flags of `train-nmt`. The first trains for `--epochs`. A short run of each
other model finds how many epochs take as long. The table has the processor minutes that the training took, BLEU and
chrF2 on the test split, and the words per second and processor core in training and in the search. Finished models
in WORK are used again.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import shlex
import subprocess
import sys
from pathlib import Path

from safetensors import safe_open

from hf_paraphrase.data.folder import DataFolder
from hf_paraphrase.tables import format_table
from hf_paraphrase.text.words import tokenize

_COMMON = ["--warmup-steps", "150", "--evaluations", "3", "--max-dev-pairs", "300", "--seed"]


def run(output: Path, *words: str) -> float:
    """Run a command unless its output exists; return its processor seconds, also of an earlier run."""
    spent = output.with_name(f"{output.name}.seconds")
    if not (output.exists() and spent.exists()):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [sys.executable, "-m", "hf_paraphrase", *words, "--output", str(output), "--overwrite"]
        subprocess.run(command, check=True, env={**os.environ, "OMP_NUM_THREADS": "1"})  # noqa: S603
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
        spent.write_text(str(seconds))
    return float(spent.read_text())


def count_words(bitext: str, split: str, column: str) -> int:
    """Count the words of a side of a bitext."""
    texts = DataFolder(bitext).table(split, [column]).column(column).to_pylist()
    return sum(len(tokenize(text)) for text in texts)


def main() -> None:
    """Train and measure all models, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bitext", help="a folder of `prepare bitext` with a test split")
    parser.add_argument("work", type=Path, help="a folder for the models")
    parser.add_argument("--models", nargs="+", required=True, metavar="NAME=FLAGS", help="the first one sets the time")
    parser.add_argument("--epochs", type=float, required=True, help="epochs of the first model")
    parser.add_argument("--pilot", type=float, default=0.2, help="epochs of the short runs")
    parser.add_argument("--seed", default="0", help="random seed")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    sides = [count_words(options.bitext, "train", side) for side in ("source", "target")]
    searched = count_words(options.bitext, "test", "target")
    rows, budget = [], 0.0
    for number, (name, flags) in enumerate(model.split("=", 1) for model in options.models):
        train = ["train-nmt", "--bitext", options.bitext, *_COMMON, options.seed, *shlex.split(flags)]
        epochs = options.epochs
        # What a run takes before and after its training is not its pace.
        pilots = [
            run(options.work / f"{name}-{share}", *train, "--epochs", str(share))
            for share in (options.pilot / 2, options.pilot)
        ]
        pace = (pilots[1] - pilots[0]) / (options.pilot / 2)
        if number:
            epochs = round((budget - pilots[0]) / pace + options.pilot / 2, 2)
        folder = options.work / f"{name}-{epochs}"
        spent = run(folder, *train, "--epochs", str(epochs))
        budget = budget or spent
        scored = options.work / f"{name}-{epochs}.json"
        evaluate = ["evaluate-nmt", "--model", str(folder), "--bitext", options.bitext, "--num-beams", "5"]
        opened = run(scored.with_suffix(".one.json"), *evaluate, "--max-sentences", "1")
        seconds = run(scored, *evaluate) - opened
        score = json.loads(scored.read_text())[0]
        with safe_open(folder / "model.safetensors", "np") as weights:
            parameters = sum(math.prod(weights.get_slice(key).get_shape()) for key in weights.keys())  # noqa: SIM118
        pace = (spent - pilots[0]) / (epochs - options.pilot / 2)
        rates = [f"{sum(sides) / pace:,.0f}", f"{searched / seconds:,.0f}"]
        quality = [f"{score['bleu']:.1f}", f"{score['chrf']:.1f}"]
        rows.append([name, f"{parameters / 1e6:.1f}", f"{epochs:g}", f"{spent / 60:.1f}", *quality, *rates])
    titles = ["model", "million parameters", "epochs", "processor minutes", "BLEU", "chrF2"]
    print(format_table([*titles, "words/s, training", "words/s, beam 5"], rows))


if __name__ == "__main__":
    main()

"""Trains and evaluates the encoders of a study of paraphrase detection, cell by cell, and notes each result at once.

A cell is a language, a model, a segmentation, a number of training pairs, a share of noise in them, and a seed. Its
pairs are the first of a ranked folder, of which the share of noise is exchanged at random, with as many negatives; the
encoder is trained as its configuration says and evaluated with `evaluate --suite paraphrase`. All draws follow the
seed, and cells that differ in model or segmentation only have the same pairs. What is finished is not done again.

    python scripts/studies/detection_runs.py --language fi --pairs DIR --data DIR \
        --split sample.train --positive-above 2.5 --tokenizers none=DIR morfessor=DIR \
        --configs wa=FILE gran=FILE --first 20000 --noise 0 0.2 --seeds 0 1 2 \
        --output results.jsonl
"""

from __future__ import annotations

import argparse
import contextlib
import io
import itertools
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from hf_paraphrase.commands import main as run_verb

KEY = ("language", "model", "segmentation", "first", "noise", "seed")
"""What tells cells apart."""


def read_arguments() -> argparse.Namespace:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--language", required=True, help="code of the language, for the results")
    parser.add_argument("--pairs", required=True, help="data folder of pairs, the best first")
    parser.add_argument("--data", required=True, help="data folder of judged pairs")
    parser.add_argument("--split", required=True, help="its split; it is parted into 5 folds that share no sentence")
    parser.add_argument("--positive-above", type=float, help="pairs with a score above this are paraphrases")
    parser.add_argument("--tokenizers", nargs="+", required=True, help="SEGMENTATION=DIR of each segmentation")
    parser.add_argument("--configs", nargs="+", required=True, help="MODEL=FILE, a YAML file of train-encoder each")
    parser.add_argument("--first", type=int, nargs="+", required=True, help="training pairs, from the beginning")
    parser.add_argument("--noise", type=float, nargs="+", default=[0.0], help="shares of random pairs among them")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--perceptrons", type=int, default=2, help="perceptrons of an evaluation, each with its seed")
    parser.add_argument("--output", type=Path, required=True, help="the file of results, a JSON object a line")
    return parser.parse_args()


def named(items: list[str]) -> dict[str, str]:
    """Reads `NAME=PATH` items."""
    for item in items:
        if "=" not in item:
            sys.exit(f"detection_runs: `{item}` is not NAME=PATH")
    return dict(item.split("=", 1) for item in items)


def read_results(path: Path) -> list[dict[str, Any]]:
    """Reads the finished cells; none if there is no file yet."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def run(*words: object) -> None:
    """Runs a verb without its table; ends the study with the verb's exit code if it fails."""
    with contextlib.redirect_stdout(io.StringIO()):
        code = run_verb([str(word) for word in words])
    if code:
        sys.exit(code)


def result_of(options: argparse.Namespace, cell: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Makes the pairs of a cell, trains and evaluates its encoder, and returns what came out."""
    seed, start = cell["seed"], time.process_time()
    pairs, model, evaluation = folder / "pairs", folder / "model", folder / "evaluation.json"
    selection = ["--first", cell["first"], "--noise", cell["noise"], "--seed", seed, "--negatives", seed]
    run("filter", "--pairs", options.pairs, *selection, "--output", pairs)
    config, tokenizer = named(options.configs)[cell["model"]], named(options.tokenizers)[cell["segmentation"]]
    training = ["--config", config, "--pairs", pairs, "--tokenizer", tokenizer, "--seed", seed]
    begin = time.process_time()
    run("train-encoder", *training, "--output", model)
    trained = time.process_time()
    data = [
        "--suite",
        "paraphrase",
        "--data",
        options.data,
        "--dev-split",
        options.split,
        "--test-split",
        options.split,
    ]
    if options.positive_above is not None:
        data += ["--positive-above", str(options.positive_above)]
    run("evaluate", *data, "--model", model, "--seeds", options.perceptrons, "--output", evaluation)
    record = json.loads(evaluation.read_text(encoding="utf-8"))["results"][0]["tasks"][0]
    made = json.loads((pairs / "provenance.json").read_text(encoding="utf-8"))["results"]
    config_record = json.loads((model / "config.json").read_text(encoding="utf-8"))
    return {
        "perceptron": record["perceptron"]["accuracy"],
        **{name: record["cosine"][name] for name in ("average_precision", "accuracy", "f1", "accuracy_at_dev")},
        "all_paraphrases": record["all_paraphrases"],
        "test_pairs": record["test"]["pairs"],
        "training_pairs": made["pairs"],
        "noisy_pairs": made["noise"],
        "vocabulary": config_record["vocab_size"],
        "training_seconds": round(trained - begin, 1),
        "seconds": round(time.process_time() - start, 1),
    }


def main() -> None:
    """Runs the cells that are not finished, the cheapest parts of the grid first as they are given."""
    options = read_arguments()
    options.output.parent.mkdir(parents=True, exist_ok=True)
    done = {tuple(row[name] for name in KEY) for row in read_results(options.output)}
    models, segmentations = named(options.configs), named(options.tokenizers)
    # Seeds outermost: an interrupted study has whole grids of its first seeds.
    grid = itertools.product(options.seeds, models, segmentations, options.first, options.noise)
    for seed, model, segmentation, first, noise in grid:
        values = (options.language, model, segmentation, first, noise, seed)
        if values in done:
            continue
        cell = dict(zip(KEY, values, strict=True))
        with tempfile.TemporaryDirectory(dir=options.output.parent) as folder:
            row = {**cell, **result_of(options, cell, Path(folder))}
        with options.output.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()

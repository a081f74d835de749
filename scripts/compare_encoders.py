"""Trains encoders of several configurations on several sets of pairs with several seeds, and prints one table.

Each cell is `train-encoder --config FILE --pairs DIR --seed N`, the epoch chosen on the dev data, followed by
`evaluate`. What is finished is noted in a file, so an interrupted comparison goes on where it was.

    python scripts/compare_encoders.py --configs scripts/configs/paper_000_*.yaml --pairs news=DIR captions=DIR \
        --initial-vectors FILE --dev-data STS16 --data DIR --output DIR
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import shutil
import statistics
import sys
from pathlib import Path
from typing import Any

from hf_paraphrase.commands import main as run_verb
from hf_paraphrase.evaluation.tuning_choice import spread
from hf_paraphrase.hub.provenance import fingerprint


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--configs", nargs="+", required=True, type=Path, help="YAML files of train-encoder")
    parser.add_argument("--pairs", nargs="+", required=True, help="NAME=DIR of each set of pairs")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--initial-vectors", help="word vectors to start from")
    parser.add_argument("--dev-data", required=True, help="the folder of the STS 2016 sets")
    parser.add_argument("--data", required=True, help="the folder of all STS sets")
    parser.add_argument("--output", required=True, type=Path, help="a folder for results.jsonl and table.md")
    parser.add_argument("--keep-models", action="store_true", help="keep every trained encoder below the output")
    return parser.parse_args()


def cell(options: argparse.Namespace, config: Path, name: str, pairs: str, seed: int) -> dict[str, Any]:
    """Trains and evaluates one encoder."""
    folder = options.output / "models" / f"{config.stem}_{name}_{seed}"
    results = options.output / "evaluation.json"
    words = ["train-encoder", "--config", config, "--pairs", pairs, "--seed", seed, "--output", folder, "--overwrite"]
    words += ["--dev-data", options.dev_data]
    if options.initial_vectors:
        words += ["--initial-vectors", options.initial_vectors]
    verbs = [words, ["evaluate", "--model", folder, "--data", options.data, "--output", results, "--overwrite"]]
    for verb in verbs:
        with contextlib.redirect_stdout(io.StringIO()):
            code = run_verb([str(word) for word in verb])
        if code:
            sys.exit(code)
    training = json.loads((folder / "provenance.json").read_text(encoding="utf-8"))["results"]
    evaluation = json.loads(results.read_text(encoding="utf-8"))["results"][0]
    found = [item for item in evaluation["sets"] if item["family"] not in {"STS16"}]
    results.unlink()
    if not options.keep_models:
        shutil.rmtree(folder)
    return {
        "untrained": training["dev_untrained"],
        "dev": evaluation["dev_mean"],
        "epoch": training["best_epoch"],
        "sets": {f"{item['family']} {item['name']}": item["pearson"] for item in found},
    }


def table(rows: list[dict[str, Any]], configs: list[str], names: list[str]) -> str:
    """Makes a Markdown table: for every configuration and set of pairs, the dev mean and the mean over other sets."""
    lines = [
        "| encoder | " + " | ".join(f"{name}: STS16 (dev) | {name}: other sets" for name in names) + " |",
        "|---|" + "---|---|" * len(names),
    ]
    for config in configs:
        cells = []
        for name in names:
            mine = [row for row in rows if row["config"] == config and row["pairs"] == name]
            cells.append(spread([row["dev"] for row in mine]))
            cells.append(spread([statistics.mean(row["sets"].values()) for row in mine]))
        lines.append(f"| {config} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    options = arguments()
    options.output.mkdir(parents=True, exist_ok=True)
    sets = dict(item.partition("=")[::2] for item in options.pairs)
    inputs = [options.data, options.dev_data, *([options.initial_vectors] if options.initial_vectors else [])]
    common = [fingerprint(item) for item in inputs]
    record = options.output / "results.jsonl"
    known = {}
    if record.exists():
        rows = [json.loads(line) for line in record.read_text(encoding="utf-8").splitlines()]
        known = {json.dumps(row["key"]): row for row in rows}
    done = []
    for name, pairs in sets.items():
        content = fingerprint(pairs)
        for config in options.configs:
            for seed in options.seeds:
                key = [config.read_text(encoding="utf-8"), content, seed, common]
                row = known.get(json.dumps(key))
                if row is None:
                    result = cell(options, config, name, pairs, seed)
                    row = {"key": key, "config": config.stem, "pairs": name, "seed": seed, **result}
                    with record.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(row) + "\n")
                done.append(row)
    text = table(done, [config.stem for config in options.configs], list(sets))
    (options.output / "table.md").write_text(text, encoding="utf-8")
    sys.stdout.write(text)


if __name__ == "__main__":
    main()

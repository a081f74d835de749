"""Trains encoders of several configurations on several sets of pairs with several seeds, and prints one table.

Each cell is `train-encoder --config FILE --pairs DIR --seed N`, the epoch chosen on the dev data, followed by
`evaluate`. Finished runs are noted in a file, so an interrupted comparison continues where it was. Flags after `--` go
to every `train-encoder`. A second table, differences.md, compares each configuration with the first one, seed by
seed, over seeds and sentence pairs and for all of the table together (`evaluation/verdicts.py`); ten seeds of Avg and
five of GRAN are what it takes.

    python scripts/studies/compare_encoders.py --configs scripts/configs/paper_000_*.yaml \
        --pairs news=DIR captions=DIR --initial-vectors FILE --dev-data STS16 --data DIR --output DIR \
        [--group "glosses=STS12 OnWN,STS13 OnWN,STS13 FNWN"] [-- --batch-size 50]
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from finished_runs import append_row, read_rows
from hf_paraphrase.artefacts.provenance import fingerprint
from hf_paraphrase.errors import HfParaphraseError, UsageError
from hf_paraphrase.evaluation.sts_files import find_sts_sets
from hf_paraphrase.evaluation.verdicts import Difference, difference, spread
from quiet_verbs import run_verb
from redrawn_pairs import redrawn

_OWN = {"--config", "--pairs", "--seed", "--output", "--overwrite", "--resume", "--dev-data", "--initial-vectors"}
"""Flags of `train-encoder` that this script gives itself."""
_DEV = "STS16"


def arguments() -> argparse.Namespace:
    """Reads the command line; what comes after `--` are the `flags`."""
    words = sys.argv[1:]
    split = words.index("--") if "--" in words else len(words)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--configs", nargs="+", required=True, type=Path, help="YAML files of train-encoder")
    parser.add_argument("--pairs", nargs="+", required=True, help="NAME=DIR of each set of pairs")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--initial-vectors", help="word vectors to start from")
    parser.add_argument("--dev-data", required=True, help="the folder of the STS 2016 sets")
    parser.add_argument("--data", required=True, help="the folder of all STS sets")
    parser.add_argument("--output", required=True, type=Path, help="a folder for results.jsonl and table.md")
    parser.add_argument("--keep-models", action="store_true", help="keep every trained encoder below the output")
    parser.add_argument(
        "--group",
        action="append",
        default=[],
        metavar="NAME=SET,...",
        help="a further column, the mean over these sets: `STS12 OnWN`, or `OnWN` for the sets of all years but 2016 "
        "with this name; may be given several times",
    )
    parser.add_argument(
        "--against",
        nargs=2,
        metavar=("DIR", "CONFIG"),
        help="compare with a configuration of another output of this script, on pairs of the same names, not the "
        "first one here",
    )
    options = parser.parse_args(words[:split])
    options.flags = words[split + 1 :]
    for word in options.flags:
        if word.partition("=")[0] in _OWN:
            parser.error(f"{word} cannot be given after --: every run has its own")
    return options


def read_groups(options: argparse.Namespace) -> dict[str, list[str]]:
    """Reads the groups of sets: by name the keys of their sets."""
    if not options.group:
        return {}
    keys = [item.key for item in find_sts_sets(options.data).sets if item.family != "STS16"]
    groups: dict[str, list[str]] = {}
    for text in options.group:
        name, _, listed = text.partition("=")
        if not name or not listed:
            raise UsageError(f"--group {text} is not NAME=SET,...", remedy="e.g. --group glosses=OnWN,FNWN")
        groups[name] = []
        for wanted in map(str.strip, listed.split(",")):
            found = [key for key in keys if wanted in (key, key.partition(" ")[2])]
            if not found:
                raise UsageError(f"--group {name}: there is no set `{wanted}`", remedy=f"one of {', '.join(keys)}")
            groups[name] += [key for key in found if key not in groups[name]]
    return groups


def cell(options: argparse.Namespace, config: Path, name: str, pairs: str, seed: int) -> dict[str, Any]:
    """Trains and evaluates one encoder."""
    folder = options.output / "models" / f"{config.stem}_{name}_{seed}"
    results = options.output / "evaluation.json"
    words = ["train-encoder", "--config", config, *options.flags, "--pairs", pairs, "--seed", seed]
    words += ["--output", folder, "--overwrite", "--dev-data", options.dev_data]
    if options.initial_vectors:
        words += ["--initial-vectors", options.initial_vectors]
    verbs = [words, ["evaluate", "--model", folder, "--data", options.data, "--output", results, "--overwrite"]]
    for verb in verbs:
        run_verb(*verb)
    training = json.loads((folder / "provenance.json").read_text(encoding="utf-8"))["results"]
    evaluation = json.loads(results.read_text(encoding="utf-8"))["results"][0]
    found = [item for item in evaluation["sets"] if item["family"] != _DEV]
    results.unlink()
    drawn = redrawn(folder, options.data)
    if not options.keep_models:
        shutil.rmtree(folder)
    return {
        "untrained": training["dev_untrained"],
        "dev": evaluation["dev_mean"],
        "epoch": training["best_epoch"],
        "sets": {f"{item['family']} {item['name']}": item["pearson"] for item in found},
        "drawn": drawn,
    }


def table(
    rows: list[dict[str, Any]], configs: list[str], names: list[str], groups: Mapping[str, Sequence[str]] | None = None
) -> str:
    """Makes a Markdown table: for every configuration and set of pairs, the dev mean and the means over other sets."""
    groups = groups or {}
    titles = ["STS16 (dev)", "other sets", *groups]
    lines = [
        "| encoder | " + " | ".join(f"{name}: {title}" for name in names for title in titles) + " |",
        "|---|" + "---|" * len(names) * len(titles),
    ]
    for config in configs:
        cells = []
        for name in names:
            mine = [row for row in rows if row["config"] == config and row["pairs"] == name]
            cells.append(spread([row["dev"] for row in mine]))
            cells.append(spread([statistics.mean(row["sets"].values()) for row in mine]))
            cells += [
                spread([statistics.mean(row["sets"][key] for key in keys) for row in mine]) for keys in groups.values()
            ]
        lines.append(f"| {config} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def differences(
    rows: list[dict[str, Any]], configs: list[str], names: list[str], groups: Mapping[str, Sequence[str]] | None = None
) -> str:
    """Makes a Markdown table of the differences from the first configuration, with the verdict on `it is better`."""
    compared: list[tuple[str, Difference]] = []
    for name in names:
        for config in configs[1:]:
            mine, first = (
                {row["seed"]: row for row in rows if (row["config"], row["pairs"]) == (which, name)}
                for which in (config, configs[0])
            )
            if not mine.keys() & first.keys():
                continue
            sets = list(next(iter(mine.values()))["sets"])
            dev = [key for row in mine.values() for key in row.get("drawn", {}) if key.startswith(_DEV)]
            columns = {"STS16 (dev)": list(dict.fromkeys(dev)), "other sets": sets, **(groups or {})}
            for title, keys in columns.items():
                scores = [
                    {seed: _score(row, keys, title != "STS16 (dev)") for seed, row in side.items()}
                    for side in (mine, first)
                ]
                known = all("drawn" in row for side in (mine, first) for row in side.values())
                drawn = [np.stack([_drawn(row, keys) for row in side.values()], axis=1) for side in (mine, first)]
                pairs = (drawn[0], drawn[1]) if known else None
                found = difference(scores[0], scores[1], paired=True, pairs=pairs)
                compared.append((f"{name}, {title}: {config}", found))
    lines = [f"| difference from {configs[0]} | points [95 %] | better |", "|---|---|---|"]
    for what, found in compared:
        interval = found.interval(len(compared))
        lines.append(f"| {what} | {interval.text()} | {interval.verdict('above')} |")
    return "\n".join(lines) + "\n"


def _score(row: dict[str, Any], keys: Sequence[str], is_test: bool) -> float:
    return statistics.mean(row["sets"][key] for key in keys) if is_test else row["dev"]


def _drawn(row: dict[str, Any], keys: Sequence[str]) -> np.ndarray:
    drawn = row.get("drawn", {})
    return np.mean([drawn[key] for key in keys], axis=0) if keys and drawn else np.zeros(1)


def main() -> int:
    """Fills in the tables, writes them and returns the exit code."""
    options = arguments()
    try:
        groups = read_groups(options)
        done, names = compare(options)
    except HfParaphraseError as error:
        sys.stderr.write(f"compare_encoders: error: {error}\n")
        return 2
    configs = [config.stem for config in options.configs]
    text = table(done, configs, names, groups)
    if options.against:
        folder, baseline = options.against
        done += [row for row in read_rows(Path(folder) / "results.jsonl").values() if row["config"] == baseline]
        configs.insert(0, baseline)
    (options.output / "table.md").write_text(text, encoding="utf-8")
    sys.stdout.write(text)
    if len(configs) > 1:
        text = differences(done, configs, names, groups)
        (options.output / "differences.md").write_text(text, encoding="utf-8")
        sys.stdout.write("\n" + text)
    return 0


def compare(options: argparse.Namespace) -> tuple[list[dict[str, Any]], list[str]]:
    """Trains and evaluates what is not noted yet, and returns all runs and the names of the sets of pairs."""
    options.output.mkdir(parents=True, exist_ok=True)
    sets = dict(item.partition("=")[::2] for item in options.pairs)
    inputs = [options.data, options.dev_data, *([options.initial_vectors] if options.initial_vectors else [])]
    common = [fingerprint(item) for item in inputs]
    # Files and folders count by what is in them. Without flags a key is as it was before there were any.
    flags = [fingerprint(word) if Path(word).exists() else word for word in options.flags]
    more = [flags] if flags else []
    record = options.output / "results.jsonl"
    known = read_rows(record)
    done = []
    for name, pairs in sets.items():
        content = fingerprint(pairs)
        for config in options.configs:
            for seed in options.seeds:
                key = [config.read_text(encoding="utf-8"), content, seed, common, *more]
                row = known.get(json.dumps(key))
                if row is None:
                    result = cell(options, config, name, pairs, seed)
                    row = {"key": key, "config": config.stem, "pairs": name, "seed": seed, **result}
                    append_row(record, row)
                done.append(row)
    return done, list(sets)


if __name__ == "__main__":
    sys.exit(main())

"""Writes the tables of the study of paper 004 and says of each of its two findings whether it holds there.

    python scripts/studies/sdae_table.py WORK

WORK is the folder of `sdae.sh`: models/NAME_SEED, sts/NAME_SEED.json, and perhaps drawn/NAME_SEED.json and
senteval/NAME_SEED.json, the names being plain, noise and regulariser. The paper finds that expansion helps as a noise
and hurts as a regulariser, each against the plain autoencoder. Verdicts are those of `evaluation/verdicts.py`, on the
differences from the plain runs with the same seeds, for all rows together: over seeds and sentence pairs on STS, where
all runs have their redrawn pairs, over seeds alone on transfer tasks. All runs must have the same number of updates;
means are over the sets and tasks that all evaluated runs have.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hf_paraphrase.errors import HfParaphraseError, InputError
from hf_paraphrase.evaluation.verdicts import Claim, difference, spread

PLAIN, NOISE, REGULARISER = "plain", "noise", "regulariser"
VARIANTS = {
    PLAIN: "plain: words deleted, neighbours swapped",
    NOISE: "expansion as a further noise",
    REGULARISER: "expansion as a regulariser",
}
FINDINGS: dict[str, tuple[str, Claim]] = {
    NOISE: ("helps as noise", "above"),
    REGULARISER: ("hurts as regulariser", "below"),
}
"""What the paper says of each variant against the plain one, and where the difference is then."""
STS, TRANSFER, RANKS = "STS mean", "transfer mean", "STS mean (Spearman)"
SINGLY = "STS14"
"""The family whose sets have a table of their own, as in Table 2 of the paper."""


@dataclass
class Run:
    """What was measured of one run.

    Attributes:
        sets: Pearson's r x 100 by family and name of an STS set.
        ranks: Spearman's rho x 100 of those that have it.
        drawn: The first of these on redrawn sentence pairs, by set; in draws of all runs alike.
        scores: By column of the table, over what all runs have.
        updates: How many it was trained for; None if it does not say.
        loss: Reconstruction loss on the dev sentences, nats a word.
        distance: 1 - cos of dev sentences and their expansions; None for a run without expansion.
    """

    sets: dict[tuple[str, str], float] = field(default_factory=dict)
    ranks: dict[tuple[str, str], float] = field(default_factory=dict)
    tasks: dict[str, float] = field(default_factory=dict)
    drawn: dict[tuple[str, str], list[float]] = field(default_factory=dict)
    scores: dict[str, float] = field(default_factory=dict)
    updates: int | None = None
    loss: float = math.nan
    distance: float | None = None


def read_json(path: Path) -> dict[str, Any]:
    """Reads a file of results."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError("cannot be read as JSON", path=path, remedy="remove it and run the study again") from error
    if not isinstance(found, dict):
        raise InputError("not an object", path=path, remedy="remove it and run the study again")
    return found


def read_runs(work: Path) -> dict[str, dict[int, Run]]:
    """Reads the runs that are evaluated, by variant and seed."""
    runs: dict[str, dict[int, Run]] = {name: {} for name in VARIANTS}
    for path in sorted((work / "sts").glob("*.json")):
        name, _, seed = path.stem.rpartition("_")
        if name not in VARIANTS or not seed.isdigit():
            continue
        run = runs[name][int(seed)] = Run()
        try:
            for item in read_json(path)["results"][0]["sets"]:
                run.sets[item["family"], item["name"]] = float(item["pearson"])
                if "spearman" in item:
                    run.ranks[item["family"], item["name"]] = float(item["spearman"])
            redrawn = work / "drawn" / path.name
            if redrawn.is_file():
                found = read_json(redrawn)
                run.drawn = {key: [float(value) for value in found[" ".join(key)]] for key in run.sets}
            transfer = work / "senteval" / path.name
            if transfer.is_file():
                tasks = read_json(transfer)["results"][0]["tasks"]
                run.tasks = {item["task"]: float(item["metrics"]["accuracy"]) for item in tasks}
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise InputError("these are not the results of evaluate", path=path) from error
        if not run.sets:
            raise InputError("these are not the results of evaluate", path=path)
        record = read_json(work / "models" / path.stem / "provenance.json")
        training = record.get("results", {})
        run.loss, run.distance = training.get("dev_loss", math.nan), training.get("dev_expansion_distance")
        run.updates = training.get("steps", record.get("settings", {}).get("max_steps"))
    if not any(runs.values()):
        raise InputError("no evaluated run", path=work / "sts", remedy="run sdae.sh")
    check_updates(runs, work)
    score(runs, work)
    return runs


def check_updates(runs: Mapping[str, Mapping[int, Run]], work: Path) -> None:
    """Checks that all runs that say it have the same number of updates."""
    found: dict[int, list[str]] = {}
    for name, of in runs.items():
        for seed, run in of.items():
            if run.updates is not None:
                found.setdefault(run.updates, []).append(f"{name}_{seed}")
    if len(found) > 1:
        listed = "; ".join(f"{updates:,} of {', '.join(names)}" for updates, names in sorted(found.items()))
        raise InputError(
            f"the runs have unequal numbers of updates: {listed}",
            path=work / "models",
            remedy="remove those that differ, with their results, and run the study again",
        )


def score(runs: Mapping[str, Mapping[int, Run]], work: Path) -> None:
    """Fills in the columns of the table: means over the sets and the tasks that all evaluated runs have."""
    every = [run for of in runs.values() for run in of.values()]
    shared = [key for key in every[0].sets if all(key in run.sets for run in every)]
    if not shared:
        raise InputError("the runs have no set in common", path=work / "sts", remedy="evaluate all on the same data")
    transferred = [run for run in every if run.tasks]
    tasks = (
        [name for name in transferred[0].tasks if all(name in run.tasks for run in transferred)] if transferred else []
    )
    lacking = {" ".join(key) for run in every for key in run.sets if key not in shared}
    lacking |= {name for run in transferred for name in run.tasks if name not in tasks}
    if lacking:
        sys.stderr.write(f"left out, because not all runs have them: {', '.join(sorted(lacking))}\n")
    for run in every:
        for family in sorted({family for family, _ in shared}):
            run.scores[family] = statistics.fmean(run.sets[key] for key in shared if key[0] == family)
        run.scores[STS] = statistics.fmean(run.sets[key] for key in shared)
        if all(key in other.ranks for other in every for key in shared):
            run.scores[RANKS] = statistics.fmean(run.ranks[key] for key in shared)
        if run.tasks and tasks:
            run.scores |= {name: run.tasks[name] for name in tasks}
            run.scores[TRANSFER] = statistics.fmean(run.tasks[name] for name in tasks)
        run.sets = {key: run.sets[key] for key in shared}


def paired(runs: Mapping[str, Mapping[int, Run]], variant: str, score: str) -> tuple[dict[int, float], ...]:
    """Returns the scores of a variant and of the plain runs, by the seeds that both have."""
    sides = [runs[name] for name in (variant, PLAIN)]
    seeds = [
        seed for seed in sorted(sides[0].keys() & sides[1].keys()) if all(score in of[seed].scores for of in sides)
    ]
    return tuple({seed: of[seed].scores[score] for seed in seeds} for of in sides)


def redrawn_means(
    runs: Mapping[str, Mapping[int, Run]], variant: str, seeds: Sequence[int]
) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Returns the STS means of a variant and of the plain runs on redrawn pairs (replicates, seeds), if known."""
    sides = [[runs[name][seed] for seed in seeds] for name in (variant, PLAIN)]
    if not all(run.drawn for side in sides for run in side):
        return None
    first, second = (
        np.stack([np.mean([run.drawn[key] for key in run.sets], axis=0) for run in side], axis=1) for side in sides
    )
    return first, second


def tables(runs: Mapping[str, Mapping[int, Run]]) -> str:
    """Formats means and standard deviations over the seeds, and the verdicts, as Markdown."""
    columns = list(dict.fromkeys(name for of in runs.values() for run in of.values() for name in run.scores))
    lines = [
        "| variant | seeds | dev loss (nats a word) | 1 - cos to expansion | " + " | ".join(columns) + " |",
        "|---|---|---|---|" + "---|" * len(columns),
    ]
    for name, title in VARIANTS.items():
        found = list(runs[name].values())
        losses = [run.loss for run in found]
        distances = [run.distance for run in found if run.distance is not None]
        cells = [
            str(len(found)),
            f"{statistics.fmean(losses):.3f}" if losses else "–",
            f"{statistics.fmean(distances):.3f}" if distances else "–",
            *(spread([run.scores[column] for run in found if column in run.scores]) for column in columns),
        ]
        lines.append(f"| {title} | " + " | ".join(cells) + " |")
    lines += one_by_one(runs)
    lines += ["", "| finding of paper 004 | measure | difference by seed | mean | 95 % interval | verdict |"]
    lines.append("|---|---|---|---|---|---|")
    judged = [(*item, score) for item in FINDINGS.items() for score in (STS, TRANSFER)]
    compared = [(*item, paired(runs, item[0], item[-1])) for item in judged]
    compared = [item for item in compared if item[-1][0]]
    for variant, (finding, claim), score, (other, plain) in compared:
        pairs = redrawn_means(runs, variant, list(other)) if score == STS else None
        interval = difference(other, plain, paired=True, pairs=pairs).interval(len(compared))
        bounds = f"{interval.low:+.1f} to {interval.high:+.1f}" if math.isfinite(interval.low) else "–"
        each = ", ".join(f"{other[seed] - plain[seed]:+.1f}" for seed in other)
        lines.append(
            f"| {finding} | {score} | {each} | {interval.value:+.1f} | {bounds} | {interval.verdict(claim)} |"
        )
    return "\n".join(lines) + "\n"


def one_by_one(runs: Mapping[str, Mapping[int, Run]]) -> list[str]:
    """Formats the sets of STS14 one by one, Pearson's r x 100; nothing if they are not there."""
    keys = list(
        dict.fromkeys(key for of in runs.values() for run in of.values() for key in run.sets if key[0] == SINGLY)
    )
    if not keys:
        return []
    lines = ["", f"| {SINGLY} | " + " | ".join(name for _, name in keys) + " |", "|---|" + "---|" * len(keys)]
    for variant, title in VARIANTS.items():
        cells = [spread([run.sets[key] for run in runs[variant].values()]) for key in keys]
        lines.append(f"| {title} | " + " | ".join(cells) + " |")
    return lines


def main() -> int:
    """Writes the tables to standard output and returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path, help="the folder of sdae.sh")
    try:
        sys.stdout.write(tables(read_runs(parser.parse_args().work)))
    except HfParaphraseError as error:
        sys.stderr.write(f"sdae_table: error: {error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())

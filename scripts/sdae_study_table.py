"""Writes the tables of the study of paper 004 and says of each of its two findings whether it holds there.

    python scripts/sdae_study_table.py WORK

WORK is the folder of `run_sdae_study.sh`: models/NAME_SEED, sts/NAME_SEED.json and perhaps senteval/NAME_SEED.json,
the names being plain, noise and regulariser. The paper finds that expansion helps as a noise and hurts as a
regulariser, each against the plain autoencoder. A finding holds if the 95 % interval of the mean difference from the
plain run with the same seed (Student's t over the seeds) lies on the side that the paper says, does not hold if it
lies on the other, and otherwise the runs cannot tell.
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

from scipy.stats import t as student

from hf_paraphrase.commands.arguments import message
from hf_paraphrase.errors import HfParaphraseError, InputError
from hf_paraphrase.evaluation.tuning_choice import spread

PLAIN, NOISE, REGULARISER = "plain", "noise", "regulariser"
VARIANTS = {
    PLAIN: "plain: words deleted, neighbours swapped",
    NOISE: "expansion as a further noise",
    REGULARISER: "expansion as a regulariser",
}
FINDINGS = {NOISE: ("helps as noise", 1), REGULARISER: ("hurts as regulariser", -1)}
"""What the paper says of each variant against the plain one, and the sign of the difference."""
STS, TRANSFER = "STS mean", "transfer mean"


@dataclass
class Run:
    """What was measured of one run.

    Attributes:
        scores: By column of the table.
        loss: Reconstruction loss on the dev sentences, nats a word.
        distance: 1 - cos of dev sentences and their expansions; None for a run without expansion.
    """

    scores: dict[str, float] = field(default_factory=dict)
    loss: float = math.nan
    distance: float | None = None


def read_json(path: Path) -> dict[str, Any]:
    """Reads a file of results.

    Raises:
        InputError: If it is no JSON object.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError("cannot be read as JSON", path=path, remedy="remove it and run the study again") from error
    if not isinstance(found, dict):
        raise InputError("not an object", path=path, remedy="remove it and run the study again")
    return found


def read_runs(work: Path) -> dict[str, dict[int, Run]]:
    """Reads the runs that are evaluated, by variant and seed.

    Raises:
        InputError: If there is none, or a file is malformed.
    """
    runs: dict[str, dict[int, Run]] = {name: {} for name in VARIANTS}
    for path in sorted((work / "sts").glob("*.json")):
        name, _, seed = path.stem.rpartition("_")
        if name not in VARIANTS or not seed.isdigit():
            continue
        run = runs[name][int(seed)] = Run()
        try:
            sets = read_json(path)["results"][0]["sets"]
            for family in sorted({item["family"] for item in sets}):
                values = [item["pearson"] for item in sets if item["family"] == family]
                run.scores[family] = statistics.fmean(values)
            run.scores[STS] = statistics.fmean(item["pearson"] for item in sets)
            transfer = work / "senteval" / path.name
            if transfer.is_file():
                tasks = read_json(transfer)["results"][0]["tasks"]
                run.scores |= {item["task"]: item["metrics"]["accuracy"] for item in tasks}
                run.scores[TRANSFER] = statistics.fmean(item["metrics"]["accuracy"] for item in tasks)
        except (KeyError, IndexError, TypeError, statistics.StatisticsError) as error:
            raise InputError("these are not the results of evaluate", path=path) from error
        training = read_json(work / "models" / path.stem / "provenance.json").get("results", {})
        run.loss, run.distance = training.get("dev_loss", math.nan), training.get("dev_expansion_distance")
    if not any(runs.values()):
        raise InputError("no evaluated run", path=work / "sts", remedy="run run_sdae_study.sh")
    return runs


def interval(differences: Sequence[float]) -> tuple[float, float]:
    """Computes the 95 % interval of the mean of some differences by Student's t; without bounds for less than two."""
    if len(differences) < 2:
        return -math.inf, math.inf
    half = student.ppf(0.975, len(differences) - 1) * statistics.stdev(differences) / math.sqrt(len(differences))
    mean = statistics.fmean(differences)
    return mean - half, mean + half


def verdict(differences: Sequence[float], sign: int) -> str:
    """Says whether a finding holds: the differences are from the plain runs, the sign is that of the paper."""
    low, high = interval(differences)
    if low > 0 or high < 0:
        return "holds" if (low > 0) == (sign > 0) else "does not hold"
    return "cannot tell"


def paired(runs: Mapping[str, Mapping[int, Run]], variant: str, score: str) -> list[float]:
    """Lists the differences from the plain run with the same seed, for the seeds that both have."""
    plain, other = runs[PLAIN], runs[variant]
    return [
        other[seed].scores[score] - plain[seed].scores[score]
        for seed in sorted(plain.keys() & other.keys())
        if score in plain[seed].scores and score in other[seed].scores
    ]


def tables(runs: Mapping[str, Mapping[int, Run]]) -> str:
    """Lays out means and standard deviations over the seeds, and the verdicts, as Markdown."""
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
    lines += ["", "| finding of paper 004 | measure | difference by seed | mean | 95 % interval | verdict |"]
    lines.append("|---|---|---|---|---|---|")
    for name, (finding, sign) in FINDINGS.items():
        for score in (STS, TRANSFER):
            differences = paired(runs, name, score)
            if not differences:
                continue
            low, high = interval(differences)
            bounds = f"{low:+.1f} to {high:+.1f}" if math.isfinite(low) else "–"
            each = ", ".join(f"{value:+.1f}" for value in differences)
            mean = f"{statistics.fmean(differences):+.1f}"
            lines.append(f"| {finding} | {score} | {each} | {mean} | {bounds} | {verdict(differences, sign)} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Writes the tables to standard output and returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path, help="the folder of run_sdae_study.sh")
    try:
        sys.stdout.write(tables(read_runs(parser.parse_args().work)))
    except HfParaphraseError as error:
        message(f"sdae_study_table: error: {error}")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())

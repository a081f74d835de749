"""Writes the tables of the study of paper 002 over several seeds, and says of each of its findings whether it holds.

    python scripts/studies/mining_table.py WORK/seed_0/report WORK/seed_1/report WORK/seed_2/report

Each folder is what `evaluate-mining` wrote for everything that was trained with one seed, with the classifiers
`random`, `zero`, `remove` and `hard` of `mining.sh`. Verdicts are those of `evaluation/verdicts.py`, over the seeds,
paired, and the pairs, for all findings together. The hidden pairs are the same for all seeds and classifiers, and a
report has only numbers of them; drawn again they are as if all seeds found the same ones and two classifiers others,
which makes an interval rather too wide than too narrow.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hf_paraphrase.errors import HfParaphraseError, InputError
from hf_paraphrase.evaluation.verdicts import Claim, difference, spread
from hf_paraphrase.tables import format_table

CLASSIFIERS = {
    "random": "random negatives, digits kept",
    "zero": "the same, digits made 0",
    "remove": "the same, digits removed",
    "hard": "negatives from the n-best lists",
}
"""What the classifiers of the study are, by their names."""
REPLICATES = 1000
Report = Mapping[str, Any]
Found = Callable[[Report], Mapping[str, float]]
"""What a way to score found in a report: `found` pairs, of which so many are `right`, of `gold`; `f1` and so on."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("report", nargs="+", type=Path, help="the report of each seed")
    try:
        sys.stdout.write(tables([read_report(folder) for folder in parser.parse_args(arguments).report]))
    except HfParaphraseError as error:
        sys.stderr.write(f"mining_table: error: {error}\n")
        return 2
    return 0


def read_report(folder: Path) -> Report:
    """Reads the results of a report."""
    path = folder / "results.json"
    try:
        found: Report = json.loads(path.read_text(encoding="utf-8"))
        next(iter(found["recall"].values()))
        for name in CLASSIFIERS:
            # An earlier version chose thresholds on the pairs themselves, and had no `best` beside.
            best_among_random(name)(found)["f1"]
            for row in (among_random(name)(found), on_candidates(name)(found)):
                drawn_f1([row], seed=0)
    except (OSError, ValueError, LookupError, TypeError, StopIteration) as error:
        raise InputError(
            "not the report of this study's classifiers", path=path, remedy="remove it and run mining.sh again"
        ) from error
    return found


def among_random(name: str) -> Found:
    """What a classifier finds among random pairs, with the best threshold of the tuning part."""
    return lambda report: report["random_pairs"][name]


def best_among_random(name: str) -> Found:
    """The same with the threshold that is best for the very pairs, as the paper has it."""
    return lambda report: report["random_pairs"][name]["best"]


def on_candidates(name: str, *, threshold: str = "fixed", one_to_one: bool = False) -> Found:
    """What a way to score finds among the candidates of the filter."""

    def found(report: Report) -> Mapping[str, float]:
        rows = report["candidates"]
        way = (name, threshold, one_to_one)
        row = next(row for row in rows if (row["score"], row["threshold_is"], bool(row["one_to_one"])) == way)
        test: Mapping[str, float] = row["test"]
        return test

    return found


FINDINGS: tuple[tuple[str, Found, Found, Claim], ...] = (
    ("digits kept are better than made 0, among random pairs", among_random("random"), among_random("zero"), "above"),
    ("digits kept are better than removed", among_random("random"), among_random("remove"), "above"),
    ("digits removed are better than made 0", among_random("remove"), among_random("zero"), "above"),
    (
        "the classifier is worse on candidates than among random pairs",
        on_candidates("random", threshold="tuned"),
        among_random("random"),
        "below",
    ),
    (
        "negatives from the n-best lists are better on candidates",
        on_candidates("hard", threshold="tuned"),
        on_candidates("random", threshold="tuned"),
        "above",
    ),
    ("the same with the paper's λ", on_candidates("hard"), on_candidates("random"), "above"),
    ("and do no harm among random pairs", among_random("hard"), among_random("random"), "little"),
)
"""What paper 002 says, or proposes: two values and where their difference is then, in points of F1.

A threshold that was chosen is compared with chosen ones only, a fixed one with fixed ones."""


def drawn_f1(found: Sequence[Mapping[str, float]], seed: int) -> NDArray[np.float64]:
    """Computes F1 × 100 of each seed with the pairs drawn again (replicates, seeds).

    F1 depends on how many pairs are right, false and missed. Each number varies by its root, and for all seeds alike.
    """
    numbers = np.array([[row["right"], row["found"] - row["right"], row["gold"] - row["right"]] for row in found])
    noise = np.random.default_rng(seed).normal(size=(REPLICATES, 1, 3))
    right, false, missed = np.moveaxis(np.maximum(numbers + np.sqrt(numbers) * noise, 0), -1, 0)
    return 200 * right / np.maximum(2 * right + false + missed, 1)


def tables(reports: Sequence[Report]) -> str:
    """Formats recalls, the classifiers, the ways of the repair, and the findings with intervals and verdicts."""

    def over_seeds(found: Found, *measures: str) -> list[str]:
        return [spread([100 * found(report)[measure] for report in reports]) for measure in measures]

    counts = [row["n"] for row in next(iter(reports[0]["recall"].values()))]
    recalls = [
        [
            encoder,
            *(spread([report["recall"][encoder][place]["share"] for report in reports]) for place in range(len(rows))),
        ]
        for encoder, rows in reports[0]["recall"].items()
    ]
    measured = ["precision", "recall", "f1"]
    classifiers = [
        [
            what,
            *over_seeds(among_random(name), "f1"),
            *over_seeds(best_among_random(name), "f1"),
            *over_seeds(on_candidates(name), *measured),
        ]
        for name, what in CLASSIFIERS.items()
    ]
    repair = [
        [
            row["score"],
            str(row["one_to_one"] or "–"),
            *over_seeds(on_candidates(row["score"], threshold="tuned", one_to_one=bool(row["one_to_one"])), *measured),
        ]
        for row in reports[0]["candidates"]
        if row["threshold_is"] == "tuned"
    ]
    findings = []
    for claim, first, second, side in FINDINGS:
        found = [[what(report) for report in reports] for what in (first, second)]
        values = [{seed: 100 * row["f1"] for seed, row in enumerate(rows)} for rows in found]
        drawn = drawn_f1(found[0], 0), drawn_f1(found[1], 1)
        interval = difference(values[0], values[1], paired=True, pairs=drawn).interval(len(FINDINGS))
        findings.append([claim, f"{interval.text()}: {interval.verdict(side)}"])
    named = ["precision", "recall", "F1"]
    return "\n".join(
        [
            f"{len(reports)} seeds, per cent, mean ± standard deviation; translations among the n best:\n",
            format_table(["encoder", *(str(count) for count in counts)], recalls),
            "\nClassifiers, on candidates with the fixed threshold:\n",
            format_table(["classifier", "F1 among random pairs", "best F1 there", *named], classifiers),
            "\nThresholds with the best F1 on the tuning part:\n",
            format_table(["score", "matching", *named], repair),
            "\nDifferences of F1:\n",
            format_table(["finding", f"difference over {len(reports)} seeds and the pairs"], findings),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())

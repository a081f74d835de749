"""Writes the tables of the study of paper 002 over several seeds, and says of each of its findings whether it holds.

    python scripts/studies/mining_table.py WORK/seed_0/report WORK/seed_1/report WORK/seed_2/report

Each folder is what `evaluate-mining` wrote for everything that was trained with one seed, with the classifiers
`random`, `zero`, `remove` and `hard` of `mining.sh`. Verdicts are those of `evaluation/verdicts.py`, over the seeds,
paired, and for all findings together; the hidden pairs are the same in all of them.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

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
Report = Mapping[str, Any]
Value = Callable[[Report], float]


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
    """Reads the results of a report.

    Raises:
        InputError: If they are missing, damaged, or of other classifiers.
    """
    path = folder / "results.json"
    try:
        found: Report = json.loads(path.read_text(encoding="utf-8"))
        for name in CLASSIFIERS:
            # An earlier version chose thresholds on the pairs themselves, and had no `best` beside.
            best_among_random(name)(found)
            among_random(name)(found)
            on_candidates(name, "f1")(found)
    except (OSError, ValueError, LookupError, TypeError, StopIteration) as error:
        raise InputError(
            "not the report of this study's classifiers", path=path, remedy="remove it and run mining.sh again"
        ) from error
    return found


def among_random(name: str) -> Value:
    """The F1 of a classifier among random pairs, with the best threshold of the tuning part, in per cent."""
    return lambda report: 100 * float(report["random_pairs"][name]["f1"])


def best_among_random(name: str) -> Value:
    """The same with the threshold that is best for the very pairs, as the paper has it."""
    return lambda report: 100 * float(report["random_pairs"][name]["best"]["f1"])


def on_candidates(name: str, measure: str, *, threshold: str = "fixed", one_to_one: bool = False) -> Value:
    """A measure of a way to score on the candidates of the filter, in per cent."""

    def value(report: Report) -> float:
        rows = report["candidates"]
        way = (name, threshold, one_to_one)
        row = next(row for row in rows if (row["score"], row["threshold_is"], bool(row["one_to_one"])) == way)
        return 100 * float(row["test"][measure])

    return value


FINDINGS: tuple[tuple[str, Value, Value, Claim], ...] = (
    ("digits kept are better than made 0, among random pairs", among_random("random"), among_random("zero"), "above"),
    ("digits kept are better than removed", among_random("random"), among_random("remove"), "above"),
    ("digits removed are better than made 0", among_random("remove"), among_random("zero"), "above"),
    (
        "the classifier is worse on candidates than among random pairs",
        on_candidates("random", "f1", threshold="tuned"),
        among_random("random"),
        "below",
    ),
    (
        "negatives from the n-best lists are better on candidates",
        on_candidates("hard", "f1", threshold="tuned"),
        on_candidates("random", "f1", threshold="tuned"),
        "above",
    ),
    ("the same with the paper's λ", on_candidates("hard", "f1"), on_candidates("random", "f1"), "above"),
    ("and do no harm among random pairs", among_random("hard"), among_random("random"), "little"),
)
"""What paper 002 says, or proposes: two values and where their difference is then, in points of F1.

A threshold that was chosen is compared with chosen ones only, a fixed one with fixed ones."""


def tables(reports: Sequence[Report]) -> str:
    """Formats the classifiers, the ways of the repair, and the findings with intervals and verdicts."""

    def over_seeds(value: Value) -> str:
        return spread([value(report) for report in reports])

    classifiers = [
        [
            what,
            over_seeds(among_random(name)),
            over_seeds(best_among_random(name)),
            *(over_seeds(on_candidates(name, measure)) for measure in ("precision", "recall", "f1")),
        ]
        for name, what in CLASSIFIERS.items()
    ]
    tuned = [row for row in reports[0]["candidates"] if row["threshold_is"] == "tuned"]
    repair = [
        [
            row["score"],
            str(row["one_to_one"] or "–"),
            *(
                over_seeds(on_candidates(row["score"], measure, threshold="tuned", one_to_one=bool(row["one_to_one"])))
                for measure in ("precision", "recall", "f1")
            ),
        ]
        for row in tuned
    ]
    findings = []
    for claim, first, second, side in FINDINGS:
        values = [{seed: value(report) for seed, report in enumerate(reports)} for value in (first, second)]
        interval = difference(values[0], values[1], paired=True).interval(len(FINDINGS))
        findings.append([claim, f"{interval.text()}: {interval.verdict(side)}"])
    measured = ["precision", "recall", "F1"]
    heads = [
        "classifier",
        "F1 among random pairs",
        "best F1 there",
        *(f"{name}, candidates, fixed λ" for name in measured),
    ]
    return "\n".join(
        [
            f"{len(reports)} seeds, per cent, mean ± standard deviation\n",
            format_table(heads, classifiers),
            "\nThresholds with the best F1 on the tuning part:\n",
            format_table(["score", "matching", *measured], repair),
            "\nDifferences of F1:\n",
            format_table(["finding", f"difference over {len(reports)} seeds"], findings),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())

"""Turns the results of `detection_runs.py` into Markdown tables: cells over their seeds, and verdicts on claims.

Numbers are means over seeds with their standard deviations. A claim is judged by the differences, paired by the seed,
as `evaluation/verdicts.py` does, over seeds alone and for all claims of the table together.

    python scripts/studies/detection_table.py results.jsonl
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from statistics import mean
from typing import Any

from detection_runs import KEY, read_results
from hf_paraphrase.evaluation.verdicts import Interval, difference, spread
from hf_paraphrase.tables import format_table

MEASURES = {"perceptron": "perceptron", "average_precision": "AP", "accuracy": "accuracy", "f1": "F1"}
"""The measures by their names in the results and in the tables; the last three are of the cosine."""
Row = dict[str, Any]
Differences = dict[int, float]
"""Differences by the seed."""


def differences(better: dict[int, Row], worse: dict[int, Row], measure: str) -> Differences:
    """Returns the differences of a measure for the seeds that both have."""
    return {seed: better[seed][measure] - worse[seed][measure] for seed in sorted(better.keys() & worse.keys())}


def interval(found: Differences, comparisons: int) -> Interval:
    """Computes the interval of the mean of differences that are paired by the seed."""
    return difference(found, dict.fromkeys(found, 0.0), paired=True).interval(comparisons)


def matching(rows: Iterable[Row], **wanted: Any) -> dict[int, Row]:
    """Returns the rows with the given values by their seeds."""
    return {row["seed"]: row for row in rows if all(row[name] == value for name, value in wanted.items())}


def cells_table(rows: list[Row]) -> str:
    """Lays out every cell over its seeds."""
    names = [name for name in KEY if name != "seed"]
    cells = sorted({tuple(row[name] for name in names) for row in rows})
    lines = []
    for cell in cells:
        found = list(matching(rows, **dict(zip(names, cell, strict=True))).values())
        language, model, segmentation, first, noise = cell
        lines.append(
            [
                f"{language} {model} {segmentation}",
                f"{first:,}",
                f"{100 * noise:.0f} %",
                str(len(found)),
                f"{found[0]['vocabulary']:,}",
                *(spread([100 * row[measure] for row in found]) for measure in MEASURES),
                f"{mean(row['training_seconds'] for row in found):.0f}",
            ]
        )
    header = ["encoder", "pairs", "noise", "seeds", "tokens", *MEASURES.values(), "training s"]
    return format_table(header, lines)


def claims(rows: list[Row]) -> list[tuple[str, str, dict[str, Differences]]]:
    """Lists the claims that the results bear on: in words, on what, and the differences that would be above zero."""
    found: list[tuple[str, str, dict[str, Differences]]] = []

    def add(claim: str, on: str, better: dict[int, Row], worse: dict[int, Row]) -> None:
        if better.keys() & worse.keys():
            found.append((claim, on, {measure: differences(better, worse, measure) for measure in MEASURES}))

    for language, model, first in _distinct(rows, "language", "model", "first"):
        here = {"language": language, "model": model, "first": first, "noise": 0.0}
        morphs = matching(rows, **here, segmentation="morfessor")
        on = f"{language}, {model}, {first:,} pairs"
        for other, name in (("none", "no segmentation (Tables 2 and 9)"), ("bpe", "BPE (section 4.1)")):
            add(f"Morfessor is better than {name}", on, morphs, matching(rows, **here, segmentation=other))
    for language, segmentation, first in _distinct(rows, "language", "segmentation", "first"):
        here = {"language": language, "segmentation": segmentation, "first": first}
        on = f"{language}, {segmentation}, {first:,} pairs"
        gran, wa = (matching(rows, **here, model=model, noise=0.0) for model in ("gran", "wa"))
        add("GRAN is better than WA (Table 2)", on, gran, wa)
        for noise in sorted({row["noise"] for row in rows} - {0.0}):
            noisy = {model: matching(rows, **here, model=model, noise=noise) for model in ("wa", "gran")}
            share = f"{100 * noise:.0f} % of noise"
            add(f"{share} makes WA worse (Table 3)", on, wa, noisy["wa"])
            add(f"{share} makes GRAN worse (against Table 3)", on, gran, noisy["gran"])
            seeds = wa.keys() & gran.keys() & noisy["wa"].keys() & noisy["gran"].keys()
            losses = {
                measure: {
                    seed: (wa[seed][measure] - noisy["wa"][seed][measure])
                    - (gran[seed][measure] - noisy["gran"][seed][measure])
                    for seed in sorted(seeds)
                }
                for measure in MEASURES
            }
            if seeds:
                found.append((f"GRAN loses less by {share} than WA (Table 3)", on, losses))
    for language, model, segmentation in _distinct(rows, "language", "model", "segmentation"):
        here = {"language": language, "model": model, "segmentation": segmentation, "noise": 0.0}
        sizes = sorted({row["first"] for row in matching_all(rows, **here)})
        for fewer, more in pairwise(sizes):
            name = f"{more:,} pairs are better than the best {fewer:,} (section 4.2)"
            add(
                name,
                f"{language}, {model}, {segmentation}",
                matching(rows, **here, first=more),
                matching(rows, **here, first=fewer),
            )
    return found


def matching_all(rows: Iterable[Row], **wanted: Any) -> list[Row]:
    """Returns all rows with the given values."""
    return [row for row in rows if all(row[name] == value for name, value in wanted.items())]


def _distinct(rows: Iterable[Row], *names: str) -> list[tuple[Any, ...]]:
    return sorted({tuple(row[name] for name in names) for row in rows})


def claims_table(rows: list[Row]) -> str:
    """Lays out the claims with the differences and the verdicts of the perceptron and of the cosine's AP."""
    judged = ("perceptron", "average_precision")
    found = claims(rows)
    lines = []
    for claim, on, measured in found:
        intervals = [interval(measured[name], len(found) * len(judged)) for name in judged]
        cells = [text for item in intervals for text in (item.text(scale=100.0), item.verdict("above"))]
        lines.append([f"{claim}: {on}", *cells])
    header = ["claim", *(text for name in judged for text in (f"difference, {MEASURES[name]}", "verdict"))]
    return format_table(header, lines)


def main() -> None:
    """Writes the tables to standard output."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, nargs="+", help="files of detection_runs.py")
    rows = [row for path in parser.parse_args().results for row in read_results(path)]
    if not rows:
        sys.exit("detection_table: no results")
    every_pair = sorted({(row["language"], row["test_pairs"], row["all_paraphrases"]) for row in rows})
    for language, pairs, share in every_pair:
        sys.stdout.write(f"{language}: {pairs:,} judged pairs, {100 * share:.1f} % paraphrases\n\n")
    sys.stdout.write(cells_table(rows) + "\n" + claims_table(rows))


if __name__ == "__main__":
    main()

"""Turns the results of `detection_runs.py` into Markdown tables: cells over their seeds, and verdicts on claims.

Numbers are means over seeds with the half width of their 95 % interval by Student's t. A claim is judged by the
interval of differences that are paired by the seed: it holds, or does not, where the whole interval is on one side.

    python scripts/studies/detection_table.py results.jsonl
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import sqrt
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from detection_runs import KEY, read_results
from hf_paraphrase.tables import format_table

MEASURES = {"perceptron": "perceptron", "average_precision": "AP", "accuracy": "accuracy", "f1": "F1"}
"""The measures by their names in the results and in the tables; the last three are of the cosine."""
Row = dict[str, Any]


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Computes the mean and the half width of its 95 % interval; infinite for a single value."""
    if len(values) < 2:
        return mean(values), float("inf")
    from scipy.stats import t

    return mean(values), float(t.ppf(0.975, len(values) - 1)) * stdev(values) / sqrt(len(values))


def as_text(values: Sequence[float], *, sign: bool = False) -> str:
    """Writes values from 0 to 1 as per cent: `61.2 ± 0.4`."""
    if not values:
        return "–"
    centre, half = interval(values)
    number = f"{100 * centre:+.1f}" if sign else f"{100 * centre:.1f}"
    return number if half == float("inf") else f"{number} ± {100 * half:.1f}"


def verdict(differences: Sequence[float]) -> str:
    """Judges the claim that a difference is above zero: `holds`, `does not` or `cannot tell`."""
    if len(differences) < 2:
        return "cannot tell"
    centre, half = interval(differences)
    return "holds" if centre - half > 0 else "does not" if centre + half < 0 else "cannot tell"


def matching(rows: Iterable[Row], **wanted: Any) -> dict[int, Row]:
    """Returns the rows with the given values by their seeds."""
    return {row["seed"]: row for row in rows if all(row[name] == value for name, value in wanted.items())}


def differences(better: dict[int, Row], worse: dict[int, Row], measure: str) -> list[float]:
    """Lists the differences of a measure, paired by the seed."""
    return [better[seed][measure] - worse[seed][measure] for seed in sorted(better.keys() & worse.keys())]


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
                *(as_text([row[measure] for row in found]) for measure in MEASURES),
                f"{mean(row['training_seconds'] for row in found):.0f}",
            ]
        )
    header = ["encoder", "pairs", "noise", "seeds", "tokens", *MEASURES.values(), "training s"]
    return format_table(header, lines)


def claims(rows: list[Row]) -> list[tuple[str, str, dict[str, list[float]]]]:
    """Lists the claims that the results bear on: in words, on what, and the differences that would be above zero."""
    found: list[tuple[str, str, dict[str, list[float]]]] = []

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
                measure: [
                    (wa[seed][measure] - noisy["wa"][seed][measure])
                    - (gran[seed][measure] - noisy["gran"][seed][measure])
                    for seed in sorted(seeds)
                ]
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
    lines = [
        [
            f"{claim}: {on}",
            *(cell for name in judged for cell in (as_text(found[name], sign=True), verdict(found[name]))),
        ]
        for claim, on, found in claims(rows)
    ]
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

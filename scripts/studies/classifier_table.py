"""Formats table 8 of paper 000: how well classifiers tell references from translations, over seeds.

    python scripts/studies/classifier_table.py fr=DIR de=DIR

DIR holds a folder KIND_SEED for each classifier of a language, the kinds being avg, lstm and more (avg with more
references). The findings are that the LSTM is better than averaging, and that more references help; verdicts are those
of `evaluation/verdicts.py`, by differences of the accuracies of equal seeds, which share the references, over seeds
alone and for all rows together.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path

from hf_paraphrase.errors import HfParaphraseError, InputError
from hf_paraphrase.evaluation.verdicts import difference, spread
from hf_paraphrase.tables import format_table

KINDS = {"avg": "Avg", "lstm": "LSTM", "more": "Avg, more references"}
FINDINGS = {"lstm": "the LSTM is better than averaging", "more": "more references help"}
PARTS = ("accuracy", "references", "translations")
Accuracies = dict[str, dict[int, dict[str, float]]]
"""What was measured on the test part, by kind and seed, in per cent."""


def main(arguments: list[str] | None = None) -> int:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("languages", nargs="+", metavar="NAME=DIR", help="the classifiers of a language")
    options = parser.parse_args(arguments)
    try:
        found = {name: read(Path(folder)) for name, _, folder in (item.partition("=") for item in options.languages)}
    except HfParaphraseError as error:
        print(f"classifier_table: error: {error}", file=sys.stderr)
        return 2
    print(tables(found), end="")
    return 0


def read(folder: Path) -> Accuracies:
    """Reads what the records of classifiers say."""
    found: Accuracies = {}
    for path in sorted(folder.glob("*/provenance.json")):
        kind, _, seed = path.parent.name.rpartition("_")
        if kind not in KINDS or not seed.isdigit():
            continue
        try:
            measured = json.loads(path.read_text(encoding="utf-8"))["results"]["test"]
            found.setdefault(kind, {})[int(seed)] = {part: float(measured[part]) for part in PARTS}
        except (KeyError, TypeError, ValueError) as error:
            raise InputError("this is not the record of a classifier", path=path) from error
    if not found:
        raise InputError("there are no classifiers KIND_SEED", path=folder, remedy="run classifiers.sh")
    return found


def tables(found: Mapping[str, Accuracies]) -> str:
    """Formats accuracies and findings."""
    rows = [
        [f"{name}: {title}", *(spread([measured[part] for measured in kinds[kind].values()]) for part in PARTS)]
        for name, kinds in found.items()
        for kind, title in KINDS.items()
        if kind in kinds
    ]
    compared = [(name, kind) for name, kinds in found.items() for kind in FINDINGS if {kind, "avg"} <= kinds.keys()]
    findings = []
    for name, kind in compared:
        sides = [{seed: row["accuracy"] for seed, row in found[name][side].items()} for side in (kind, "avg")]
        if sides[0].keys() & sides[1].keys():
            interval = difference(sides[0], sides[1], paired=True).interval(len(compared))
            findings.append([f"{name}: {FINDINGS[kind]}", interval.text(), interval.verdict("above")])
    header = ["classifier", "accuracy (%)", "on references", "on translations"]
    return format_table(header, rows) + "\n" + format_table(["finding", "difference [95 %]", "verdict"], findings)


if __name__ == "__main__":
    sys.exit(main())

"""Prints the settings of the classifier of paper 000 that is best on its dev part, as flags of `train-classifier`.

    python scripts/studies/best_classifier.py DIR DIR …

The settings are those that the paper tunes together (section 5.6.1): which translation of a list is the example, and
the penalty that draws word vectors to 0. Of equally good classifiers the first is taken.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from hf_paraphrase.errors import HfParaphraseError, InputError

TUNED = ("negatives", "embedding_penalty")


def main(arguments: list[str] | None = None) -> int:
    """Prints the flags."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("classifiers", nargs="+", type=Path, metavar="DIR", help="a folder that train-classifier made")
    try:
        found = [read(folder) for folder in parser.parse_args(arguments).classifiers]
    except HfParaphraseError as error:
        print(f"best_classifier: error: {error}", file=sys.stderr)
        return 2
    _, settings = max(found, key=lambda item: item[0])
    print(*(f"--{name.replace('_', '-')} {value}" for name, value in settings.items()))
    return 0


def read(folder: Path) -> tuple[float, dict[str, str]]:
    """Reads the accuracy of a classifier on its dev part, in per cent, and its settings."""
    path = folder / "provenance.json"
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        return float(record["results"]["dev"]["accuracy"]), {name: str(record["settings"][name]) for name in TUNED}
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise InputError("this is not the record of a classifier", path=path) from error


if __name__ == "__main__":
    sys.exit(main())

"""Mixes paraphrase pairs of several data folders in one file of JSON lines, for `prepare pairs --jsonl`.

    python scripts/studies/mixed_pairs.py --pairs DIR DIR=10000 --output FILE

`DIR=N` takes a random sample of N pairs. The order of all is random.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from pathlib import Path

from hf_paraphrase.data.pair_rows import iterate_pairs


def main() -> int:
    """Writes the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", nargs="+", required=True, help="data folders of pairs, DIR or DIR=N")
    parser.add_argument("--output", required=True, type=Path, help="the file to write")
    parser.add_argument("--seed", type=int, default=0, help="seed of the samples and of the order")
    options = parser.parse_args()
    draw = random.Random(options.seed)
    pairs: list[tuple[str, str]] = []
    for item in options.pairs:
        folder, _, most = item.partition("=")
        for sides in iterate_pairs(folder, max_pairs=int(most) if most else None, seed=options.seed):
            pairs += zip(*sides, strict=True)
    draw.shuffle(pairs)
    with options.output.open("w", encoding="utf-8") as stream:
        for first, second in pairs:
            stream.write(json.dumps({"sentence1": first, "sentence2": second}, ensure_ascii=False) + "\n")
    print(f"{options.output}: {len(pairs):,} pairs", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())

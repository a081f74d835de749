"""Times the text measures of `score` against a plain Python loop over the same pairs, in one run.

The measures are length, overlap, BLEU, edit distance and repetition. The loop splits both sides with the same regular
expression, calls `sacrebleu.sentence_bleu` (tokens as they are, add-one smoothing), counts shared n-grams and
repetition with sets, and takes the edit distance from the same library as `score`, pair by pair, so that what is
compared is the work around it. Both sides hold the pairs in memory.
"""

from __future__ import annotations

import argparse
import os
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from hf_paraphrase.data.folder import DataFolder
from hf_paraphrase.errors import UsageError
from hf_paraphrase.filtering.measuring import add_measures
from hf_paraphrase.filtering.tokens import tokenize
from interleaved import Contestant, argument_parser, compare, rate, run_benchmark, sample_pairs, write

MEASURES = ["length", "overlap", "bleu", "edit_distance", "repetition"]


def main() -> int:
    """Runs the benchmark and returns the exit code."""
    parser = argument_parser(__doc__)
    parser.add_argument("--pairs", help="data folder of pairs; none = pairs of the built-in sample")
    parser.add_argument("--rows", type=int, default=100_000, help="pairs to score; fewer are repeated")
    parser.add_argument("--loop-rows", type=int, default=4_000, help="of these the first that the plain loop scores")
    return run_benchmark(parser, run)


def run(arguments: argparse.Namespace, folder: Path) -> dict[str, float]:
    """Measures everything and returns the ratio."""
    table = read_pairs(arguments.pairs, arguments.rows)
    sides = table.slice(0, arguments.loop_rows).select(["sentence1", "sentence2"]).to_pydict().values()
    pairs = [(first or "", second or "") for first, second in zip(*sides, strict=True)]
    tokens = sum(len(tokenize(first)) + len(tokenize(second)) for first, second in pairs)
    write(f"{table.num_rows:,} pairs, {tokens / len(pairs) / 2:.1f} tokens a side, {os.cpu_count()} processors")
    compare_values(table, plain_loop(pairs))
    ways = [
        ("", "hf_paraphrase", table.num_rows, lambda: add_measures(table, MEASURES)),
        ("score_vs_plain_loop", "plain Python loop", len(pairs), lambda: plain_loop(pairs)),
    ]
    contestants = [Contestant(key, name, partial(rate, count, work)) for key, name, count, work in ways]
    return compare("pairs/s", contestants, arguments.rounds)


def read_pairs(folder: str | None, rows: int) -> pa.Table:
    """Reads the first pairs of a data folder, or makes some of the sample's sentences."""
    table = sample_pairs() if folder is None else DataFolder(folder).table("train", ["sentence1", "sentence2"])
    if not table.num_rows:
        raise UsageError("--pairs holds no pairs")
    return pa.concat_tables([table] * -(-rows // table.num_rows)).slice(0, rows).combine_chunks()


def plain_loop(pairs: list[tuple[str, str]]) -> list[list[float]]:
    """Scores pairs one by one."""
    from rapidfuzz.distance import Levenshtein
    from sacrebleu import sentence_bleu

    rows = []
    for first, second in pairs:
        one, two = tokenize(first), tokenize(second)
        row = [float(len(two)), float(len(one)), len(two) / len(one) if one else float("nan")]
        for order in (1, 2, 3):
            grams1, grams2 = grams_of(one, order), grams_of(two, order)
            shorter, longer = (grams1, grams2) if len(grams1) <= len(grams2) else (grams2, grams1)
            present = set(longer)
            row.append(sum(gram in present for gram in shorter) / len(shorter) if shorter else 0.0)
        bleu = sentence_bleu(" ".join(two), [" ".join(one)], tokenize="none", smooth_method="add-k", smooth_value=1)
        row.append(bleu.score)
        row.append(Levenshtein.normalized_distance(first.lower(), second.lower()))
        for tokens in (two, one):
            for grams in ([token for token in tokens if len(token) >= 3], grams_of(tokens, 3)):
                row.append(1 - len(set(grams)) / len(grams) if grams else 0.0)
        rows.append(row)
    return rows


def grams_of(tokens: list[str], order: int) -> list[Any]:
    """Lists the n-grams of one order."""
    return list(zip(*(tokens[place:] for place in range(order)), strict=False))


def compare_values(table: pa.Table, rows: list[list[float]]) -> None:
    """Checks that both compute the same; BLEU only alike, because the two smooth it differently."""
    scored = add_measures(table.slice(0, len(rows)), MEASURES)
    names = [name for name in scored.column_names if name not in {"sentence1", "sentence2"}]
    found = np.stack([scored.column(name).to_numpy() for name in names], axis=1)
    different = dict(zip(names, np.nanmax(np.abs(found - rows), axis=0).tolist(), strict=True))
    del different["bleu"]
    if max(different.values()) > 1e-9:
        raise ValueError(f"the loop gives other values: {different}")
    write(f"all values of {len(rows):,} pairs but BLEU, whose smoothing differs, agree to 1e-9")


if __name__ == "__main__":
    sys.exit(main())

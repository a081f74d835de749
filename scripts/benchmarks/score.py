"""Time the text measures of `score` against a plain Python loop over the same pairs, in one run.

The measures are length, overlap, BLEU, edit distance and repetition. The loop splits both sentences with the same
regular expression, calls `sacrebleu.sentence_bleu` (tokens unchanged, add-one smoothing), counts shared n-grams and
repetition with sets, and computes the edit distance pair by pair with the same library. Both contestants hold the
pairs in memory.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa

from hf_paraphrase.data.folder import DataFolder
from hf_paraphrase.filtering.measuring import add_measures
from hf_paraphrase.text.ngrams import word_ngrams
from hf_paraphrase.text.words import separate_letters, tokenize
from interleaved import ROUNDS, compare, rate, run_benchmark, write

MEASURES = ["length", "overlap", "bleu", "edit_distance", "repetition"]
FLAGS = {
    "rounds": (5, ROUNDS),
    "pairs": ("pairs", "data folder of pairs"),
    "rows": (100_000, "pairs to score; fewer are repeated"),
    "loop-rows": (4_000, "of these the first that the plain loop scores"),
}


def run(arguments: argparse.Namespace, folder: Path) -> dict[str, float]:
    """Measure everything and return the ratio."""
    table = DataFolder(arguments.pairs).table("train", ["sentence1", "sentence2"])
    times = -(-arguments.rows // table.num_rows)
    table = pa.concat_tables([table] * times).slice(0, arguments.rows).combine_chunks()
    sides = table.slice(0, arguments.loop_rows).to_pydict().values()
    pairs = [(first or "", second or "") for first, second in zip(*sides, strict=True)]
    tokens = sum(len(tokenize(first)) + len(tokenize(second)) for first, second in pairs)
    write(f"{tokens / len(pairs) / 2:.1f} tokens a side")
    scored, loop_values = add_measures(table.slice(0, len(pairs)), MEASURES), np.array(plain_loop(pairs))
    names = [name for name in scored.column_names if name not in {"sentence1", "sentence2"}]
    for name, expected in zip(names, loop_values.T, strict=True):
        if name != "bleu" and not np.allclose(scored.column(name), expected, rtol=0, atol=1e-9, equal_nan=True):
            raise ValueError(f"the loop gives other values of {name}")
    write(f"all values of {len(pairs):,} pairs but BLEU, whose smoothing differs, agree to 1e-9")
    ours = partial(rate, table.num_rows, lambda: add_measures(table, MEASURES))
    loop = partial(rate, len(pairs), lambda: plain_loop(pairs))
    keys = {"plain Python loop": "score_vs_plain_loop"}
    return compare("pairs/s", {"hf_paraphrase": ours, "plain Python loop": loop}, arguments.rounds, keys)


def plain_loop(pairs: list[tuple[str, str]]) -> list[list[float]]:
    """Score pairs one by one."""
    from rapidfuzz.distance import Levenshtein
    from sacrebleu import sentence_bleu

    rows = []
    for first, second in pairs:
        one, two = tokenize(first), tokenize(second)
        row = [float(len(two)), float(len(one)), len(two) / len(one) if one else float("nan")]
        for order in (1, 2, 3):
            grams1, grams2 = word_ngrams(one, order), word_ngrams(two, order)
            shorter, longer = (grams1, grams2) if len(grams1) <= len(grams2) else (grams2, grams1)
            present = set(longer)
            row.append(sum(gram in present for gram in shorter) / len(shorter) if shorter else 0.0)
        bleu = sentence_bleu(" ".join(two), [" ".join(one)], tokenize="none", smooth_method="add-k", smooth_value=1)
        row.append(bleu.score)
        row.append(Levenshtein.normalized_distance(first.lower(), second.lower()))
        for tokens in (two, one):
            for grams in (
                [token for token in tokens if len(token) >= 3 or separate_letters(token) != token],
                word_ngrams(tokens, 3),
            ):
                row.append(1 - len(set(grams)) / len(grams) if grams else 0.0)
        rows.append(row)
    return rows


if __name__ == "__main__":
    sys.exit(run_benchmark(run, __doc__, FLAGS))

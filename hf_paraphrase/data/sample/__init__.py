"""The built-in sample: real French–English sentence pairs of Tatoeba, and human paraphrases for evaluating encoders.

The sentences are from Tatoeba (CC BY 2.0 FR); `ATTRIBUTION.md` describes their selection. The files are decompressed
at the first use, in about a tenth of a second.
"""

from __future__ import annotations

import lzma
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import NamedTuple

from ...errors import InputError

FOLDER = Path(__file__).parent
BITEXT_FILE = "tatoeba_fra_eng.tsv.xz"
PARAPHRASE_FILE = "tatoeba_eng_paraphrases.tsv.xz"
TOTAL_PAIRS = 31_600
"""Pairs of the whole bitext: 30,000 to train on, 600 for validation and 1,000 to test on."""
FEWEST_PAIRS = 100
SPLITS = ("train", "validation", "test")


class SamplePair(NamedTuple):
    """One line of the bitext."""

    french: str
    english: str


class JudgedPair(NamedTuple):
    """Two English sentences: label 1 if people translated both into the same French sentence, 0 for a look-alike."""

    sentence1: str
    sentence2: str
    label: int


def sample_bitext(num_pairs: int = TOTAL_PAIRS, seed: int = 0) -> dict[str, list[SamplePair]]:
    """Return the French–English bitext of the sample by split, the same on every machine.

    Splits share no sentence, regardless of case and punctuation, and no chain of translations links two splits.
    """
    if not FEWEST_PAIRS <= num_pairs <= TOTAL_PAIRS:
        limits = f"between {FEWEST_PAIRS:,} and {TOTAL_PAIRS:,}, got {num_pairs:,}"
        problem = f"num_pairs of the sample bitext must be {limits}"
        raise InputError(problem, remedy="`prepare bitext` reads larger files of your own")
    chosen: dict[str, list[SamplePair]] = {}
    left = num_pairs
    for split in reversed(SPLITS):
        rows = [SamplePair(french, english) for name, english, french in _rows(BITEXT_FILE) if name == split]
        # The training split, which is last here, gets the rest.
        size = left if split == "train" else round(len(rows) * num_pairs / TOTAL_PAIRS)
        chosen[split] = Random(f"sample {split} {seed}").sample(rows, size)
        left -= size
    return {split: chosen[split] for split in SPLITS}


def sample_paraphrases() -> dict[str, list[JudgedPair]]:
    """Return human paraphrases among hard negatives: for each sentence one paraphrase and five other sentences.

    No sentence is in :func:`sample_bitext`. The splits are "validation" (300 sentences) and "test" (800).
    """
    splits: dict[str, list[JudgedPair]] = {"validation": [], "test": []}
    for split, sentence, paraphrase, *negatives in _rows(PARAPHRASE_FILE):
        splits[split].append(JudgedPair(sentence, paraphrase, 1))
        splits[split] += [JudgedPair(sentence, negative, 0) for negative in negatives]
    return splits


@lru_cache(maxsize=2)
def _rows(name: str) -> tuple[tuple[str, ...], ...]:
    lines = lzma.decompress((FOLDER / name).read_bytes()).decode("utf-8").split("\n")
    return tuple(tuple(line.split("\t")) for line in lines[1:-1])

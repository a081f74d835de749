"""One translation of each reference, drawn at random: what the statistics of paper 000 are computed on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...data.parquet import iterate_batches, read_schema
from ...errors import InputError
from ...filtering.best_rows import choose_one_per_reference
from ...filtering.filter_steps import check_pairs

PROBABILITY = "reference_probability"
SEEN = "classifier_seen"


@dataclass
class PairSample:
    """References, each with one translation of its list.

    Attributes:
        references: The texts (pairs,).
        translations: A translation of each (pairs,).
        probabilities: P(reference) of the translations (pairs,), where the pairs have such a column.
        rows: How many rows the folder has.
        available: How many different references.
        seen: Of which references the pairs say that the classifier has seen them (pairs,), where they have the column.
    """

    references: list[str]
    translations: list[str]
    probabilities: NDArray[np.float64] | None
    rows: int
    available: int
    seen: NDArray[np.bool_] | None = None

    def __len__(self) -> int:
        return len(self.references)


def draw_pairs(folder: Path, *, split: str = "train", limit: int | None = None, seed: int = 0) -> PairSample:
    """Draws one translation of each reference, and of many references some.

    A reference is an id with its text, or a text alone where there are no ids. Pairs with an empty side are left out.

    Args:
        folder: A data folder of pairs.
        split: The split to read.
        limit: How many references at most.
        seed: Seed of the draws.

    Raises:
        InputError: If a column is missing, or no pair is left.
    """
    schema = read_schema(folder, split)
    check_pairs(schema, str(folder))
    references: list[int] = []
    filled: list[bool] = []
    columns = [name for name in ("id", "sentence1", "sentence2") if name in schema.names]
    for batch in iterate_batches(folder, split, columns):
        first, second = batch.column("sentence1").to_pylist(), batch.column("sentence2").to_pylist()
        ids = batch.column("id").to_pylist() if "id" in columns else [None] * len(first)
        references += [hash(pair) for pair in zip(ids, first, strict=True)]
        filled += [bool((one or "").strip() and (two or "").strip()) for one, two in zip(first, second, strict=True)]
    usable = np.flatnonzero(filled)
    if not len(usable):
        raise InputError("there is no pair with two sentences", path=folder, remedy="give pairs of sentences")
    chosen = usable[choose_one_per_reference(np.array(references, np.int64)[usable], "random", seed=seed)]
    available = len(chosen)
    if limit is not None and limit < available:
        chosen = np.sort(np.random.default_rng(seed).choice(chosen, limit, replace=False))
    kept = np.zeros(len(filled), bool)
    kept[chosen] = True
    texts: tuple[list[str], list[str]] = ([], [])
    probabilities: list[np.ndarray] = []
    seen: list[np.ndarray] = []
    wanted = ["sentence1", "sentence2", *(name for name in (PROBABILITY, SEEN) if name in schema.names)]
    start = 0
    for batch in iterate_batches(folder, split, wanted):
        rows = np.flatnonzero(kept[start : start + batch.num_rows])
        start += batch.num_rows
        taken = batch.take(rows)
        for side, name in zip(texts, ("sentence1", "sentence2"), strict=True):
            side += taken.column(name).to_pylist()
        if PROBABILITY in wanted:
            probabilities.append(np.array(taken.column(PROBABILITY).to_pylist(), dtype=np.float64))
        if SEEN in wanted:
            seen.append(np.array([value == 1 for value in taken.column(SEEN).to_pylist()], dtype=bool))
    return PairSample(
        *texts,
        np.concatenate(probabilities) if probabilities else None,
        len(filled),
        available,
        np.concatenate(seen) if seen else None,
    )

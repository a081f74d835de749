"""Adds random pairs to a data set: a given fraction of noise among the positives, and negatives.

Sjöblom, Creutz and Aulamo (2018) train on pairs with an estimated fraction of wrong ones (section 4.2, Table 3), and
on an equal number of random pairs as negatives (section 3.2). Here the fraction of wrong pairs is exact.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..data.pair_rows import PairLabels, find_label
from ..data.schema import with_binary_labels, with_column
from ..errors import InputError
from ..text.hashing import are_among, draw_keys
from .measures import SIDES
from .selections import quote_column

LABEL, NOISE = "label", "noise"
_KEPT = (*SIDES, "lang", LABEL, NOISE)
_DRAWING_NEGATIVES, _DRAWING_NOISE = 3, 4


def add_random_pairs(
    pairs: pa.Table,
    *,
    noise: float = 0.0,
    seed: int = 0,
    negatives: int | None = None,
    path: Path | None = None,
    class_names: Mapping[str, Sequence[str]] | None = None,
) -> list[pa.Table]:
    """Make some pairs random and add an equal number of negatives; return the positives, then the negatives.

    A random pair is a first sentence with the second sentence of another pair; each second sentence is used once
    among the positives, and once more among the negatives. No random pair occurs in the data, in either order, and no
    sentence is paired with itself. Columns that describe a pair as a whole (scores, ids, the pivot) are null in random
    pairs.

    `noise` is the fraction of random pairs, drawn with `seed`; it adds a column `noise`, 1 for random positives.
    `negatives` is the seed of the negatives; it adds a column `label`, 1 for positives and 0 for negatives.
    """
    if (label := find_label(pairs.column_names)) is not None:
        _check_labels(pairs.column(label), label, None if path is None else str(path), class_names)
    first, second = (
        np.concatenate([draw_keys(pc.fill_null(chunk, "")) for chunk in pairs.column(side).chunks]) for side in SIDES
    )
    columns = [NOISE] * (noise > 0) + [LABEL] * (negatives is not None)
    rows = np.arange(len(first))
    is_noise = np.zeros(len(first), bool)
    generator = np.random.default_rng([seed, _DRAWING_NOISE])
    num_noise = round(noise * len(first))
    if noise and num_noise < 2:
        problem = (
            f"--noise {noise:g} of {len(first):,} pairs is {num_noise}, and at least two pairs exchange sentences"
        )
        raise InputError(problem, path=path, remedy="give a higher --noise or more pairs")
    chosen = np.sort(generator.choice(len(first), num_noise, replace=False))
    option = "--noise"
    try:
        if len(chosen):
            rows[chosen] = chosen[draw_negatives(first[chosen], second[chosen], seed, (first, second))]
            is_noise[chosen] = True
        made = [_exchange(pairs, rows, is_noise, 1, columns)]
        if negatives is not None:
            option = "--negatives"
            drawn = rows[draw_negatives(first, second[rows], negatives, (first, second))]
            made.append(_exchange(pairs, drawn, np.ones(len(rows), bool), 0, columns))
    except ValueError as error:
        raise InputError(f"{option}: {error}", path=path, remedy="give more pairs") from error
    return made


def _check_labels(
    values: pa.ChunkedArray, label: str, path: str | None, class_names: Mapping[str, Sequence[str]] | None
) -> None:
    """Check that every pair is labelled as a paraphrase, or that no pair has a label."""
    reader = PairLabels(label, class_names, path=path)
    labels = reader.read(values)
    missing, others = labels.null_count, pc.sum(pc.equal(labels, 0)).as_py() or 0
    if others or 0 < missing < len(labels):
        problem = f"the {label} of {others:,} pairs means no paraphrase, and {missing:,} pairs have none"
        positive = next(iter(values.filter(pc.equal(labels, 1)).to_pylist()), 1)
        remedy = f"random pairs need paraphrases: leave the others out with --keep '{quote_column(label)}={positive}'"
        raise InputError(problem, path=path, remedy=remedy)
    reader.finish()


def _exchange(
    pairs: pa.Table, rows: np.ndarray, is_random: np.ndarray, label: int, columns: Sequence[str]
) -> pa.Table:
    """Give pairs the second sentences of other rows, and the columns of noise and labels."""
    table = with_column(pairs, SIDES[1], pairs.column(SIDES[1]).take(pa.array(rows)))
    for field in pairs.schema if is_random.any() else ():
        if field.name not in _KEPT:
            nulls = pa.nulls(len(rows), field.type)
            column = nulls if is_random.all() else pc.if_else(is_random, nulls, table.column(field.name))
            table = with_column(table, field.name, column)
    values = {NOISE: is_random & bool(label), LABEL: np.full(len(rows), label)}
    for name in columns:
        table = with_binary_labels(table, name, pa.array(values[name].astype(np.int64)))
    return table


def draw_negatives(
    first: np.ndarray, second: np.ndarray, seed: int, known: tuple[np.ndarray, np.ndarray]
) -> np.ndarray:
    """Draw for every pair another second sentence, so that each sentence is used exactly once more.

    Sjöblom, Creutz and Aulamo (2018, section 3.2) pair sentences of the training data at random and accept that some
    of these pairs are paraphrases by accident. Here pairs that are known paraphrases (pairs of the data and of
    `known`, in either order, and identical sentences) are drawn again. Sentences are given as keys, uint64 (pairs,).
    Returns a permutation: for each pair the row of its new second sentence.
    """
    generator = np.random.default_rng([seed, _DRAWING_NEGATIVES])
    rows = generator.permutation(len(first))
    pairs = [(first, second), known]
    positives = np.concatenate([_combine_keys(*order) for one, two in pairs for order in ((one, two), (two, one))])
    positives.sort()
    wrong = np.flatnonzero(_are_paraphrases(np.arange(len(rows)), first, second, rows, positives))
    for _ in range(100):
        # Exchanging with rows drawn from all of them also moves rows that were good: look at those again.
        partners = generator.integers(len(first), size=len(wrong))
        for row, partner in zip(wrong, partners, strict=True):
            rows[row], rows[partner] = rows[partner], rows[row]
        moved = np.unique(np.concatenate([wrong, partners]))
        wrong = moved[_are_paraphrases(moved, first, second, rows, positives)]
        if not len(wrong):
            return rows
    raise ValueError(f"too few distinct sentences for random pairs (number of pairs: {len(first):,})")


def _are_paraphrases(
    chosen: np.ndarray, first: np.ndarray, second: np.ndarray, rows: np.ndarray, positives: np.ndarray
) -> np.ndarray:
    """Return which of the chosen rows got the same sentence or one of their paraphrases: (chosen,), bool."""
    own, candidates = first[chosen], second[rows[chosen]]
    return (own == candidates) | are_among(_combine_keys(own, candidates), positives)


def _combine_keys(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Combine two keys into one that depends on their order."""
    return (first * np.uint64(0x9E3779B97F4A7C15)) ^ (second + np.uint64(0x632BE59BD9B4E019))

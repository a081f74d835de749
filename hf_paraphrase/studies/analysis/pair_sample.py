"""One translation of each reference, drawn at random: what the statistics of paper 000 are computed on.

With their lengths (section 5.5), and pairs that show what a statistic means (section 5.6.1, table 11).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...data.folder import DataFolder
from ...errors import InputError
from ...filtering.best_rows import choose_one_per_reference
from ...filtering.filter_steps import check_pairs

PROBABILITY = "reference_probability"
SEEN = "classifier_seen"

BINS = ((0, 10), (10, 20), (20, 30), (30, 100))
"""The ranges of table 5 in tokens, the lower end excluded."""


@dataclass
class PairSample:
    """References, each with one translation of its list.

    Attributes:
        references: The texts (pairs,).
        translations: A translation of each (pairs,).
        probabilities: P(reference) of the translations (pairs,), where the pairs have such a column.
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
    """
    opened = DataFolder(folder)
    schema = opened.schema(split)
    check_pairs(schema, str(folder))
    references: list[int] = []
    filled: list[bool] = []
    columns = [name for name in ("id", "sentence1", "sentence2") if name in schema.names]
    for batch in opened.batches(split, columns):
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
    for batch in opened.batches(split, wanted):
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


@dataclass(frozen=True)
class LengthStatistics:
    """The lengths of a list of sentences in tokens, punctuation included.

    Attributes:
        shares: The share of sentences in each of :data:`BINS`, in per cent.
    """

    mean: float
    deviation: float
    median: float
    longest: int
    shares: tuple[float, ...]

    @classmethod
    def of(cls, lengths: NDArray[np.int64]) -> LengthStatistics:
        """Computes them from lengths (sentences,)."""
        return cls(
            float(lengths.mean()),
            float(lengths.std(ddof=1)) if len(lengths) > 1 else 0.0,
            float(np.median(lengths)),
            int(lengths.max()),
            tuple(100.0 * float(((lengths > low) & (lengths <= high)).mean()) for low, high in BINS),
        )


@dataclass(frozen=True)
class Example:
    """A pair with its numbers.

    Attributes:
        reference_number: A number of the reference, e.g. its P(reference); None if there is none.
    """

    reference: str
    translation: str
    reference_number: float | None
    translation_number: float


def ranked_examples(
    references: list[str],
    translations: list[str],
    ranking: NDArray[np.float64],
    numbers: tuple[NDArray[np.float64] | None, NDArray[np.float64]],
    count: int,
) -> list[Example]:
    """Takes the pairs with the highest ranking, the earlier of equals, each translation once.

    Args:
        references: The references (pairs,).
        translations: The translations (pairs,).
        ranking: By what they are ranked (pairs,); NaN loses.
        numbers: What to show of the references and of the translations (pairs,).
        count: How many.
    """
    order = np.argsort(-np.where(np.isnan(ranking), -np.inf, ranking), kind="stable")
    examples: dict[str, Example] = {}
    for row in order:
        key = translations[row].casefold()
        if len(examples) == count:
            break
        if key in examples or key == references[row].casefold():
            continue
        first = None if numbers[0] is None else float(numbers[0][row])
        examples[key] = Example(references[row], translations[row], first, float(numbers[1][row]))
    return list(examples.values())

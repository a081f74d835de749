"""One translation of each reference, drawn at random: what the statistics of paper 000 are computed on.

With their lengths (section 5.5), and pairs that show what a statistic means (section 5.6.1, table 11).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...data.folder import DataFolder
from ...errors import InputError
from ...filtering.filter_steps import check_pairs
from ...filtering.row_choice import choose_one_per_reference

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
        rows: How many rows the pairs have.
        available: How many references they have.
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

    def take(self, rows: NDArray[np.int64]) -> PairSample:
        """Keeps some of the references."""
        return replace(
            self,
            references=[self.references[row] for row in rows],
            translations=[self.translations[row] for row in rows],
            probabilities=None if self.probabilities is None else self.probabilities[rows],
            seen=None if self.seen is None else self.seen[rows],
        )


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
    wanted = ["sentence1", "sentence2", *(name for name in (PROBABILITY, SEEN) if name in schema.names)]
    parts = []
    start = 0
    for batch in opened.batches(split, wanted):
        inside = chosen[(chosen >= start) & (chosen < start + batch.num_rows)] - start
        parts.append(batch.take(inside).to_pydict())
        start += batch.num_rows
    taken = {name: [value for part in parts for value in part[name]] for name in wanted}
    return PairSample(
        taken["sentence1"],
        taken["sentence2"],
        np.array(taken[PROBABILITY], np.float64) if PROBABILITY in taken else None,
        len(filled),
        available,
        np.array([value == 1 for value in taken[SEEN]], bool) if SEEN in taken else None,
    )


def length_statistics(lengths: NDArray[np.int64]) -> dict[str, Any]:
    """Describes lengths in tokens (sentences,); `shares` are those of the sentences in each of :data:`BINS`, in %."""
    return {
        "mean": float(lengths.mean()),
        "deviation": float(lengths.std(ddof=1)) if len(lengths) > 1 else 0.0,
        "median": float(np.median(lengths)),
        "longest": int(lengths.max()),
        "shares": [100.0 * float(((lengths > low) & (lengths <= high)).mean()) for low, high in BINS],
    }


def ranked_examples(
    sample: PairSample,
    ranking: NDArray[np.float64],
    numbers: tuple[NDArray[np.float64] | None, NDArray[np.float64]],
    count: int,
) -> list[dict[str, Any]]:
    """Takes the pairs with the highest ranking, the earlier of equals, each translation once.

    Args:
        sample: The pairs.
        ranking: By what they are ranked (pairs,); NaN comes last.
        numbers: What to show of the references and of the translations (pairs,), e.g. their P(reference).
        count: How many.
    """
    examples: dict[str, dict[str, Any]] = {}
    for row in np.argsort(-np.where(np.isnan(ranking), -np.inf, ranking), kind="stable"):
        reference, translation = sample.references[row], sample.translations[row]
        key = translation.casefold()
        if len(examples) == count:
            break
        if key not in examples and key != reference.casefold():
            examples[key] = {
                "reference": reference,
                "translation": translation,
                "reference_number": None if numbers[0] is None else float(numbers[0][row]),
                "translation_number": float(numbers[1][row]),
            }
    return list(examples.values())

"""Pairs that show what a statistic means (paper 000, section 5.6.1, table 11)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Example:
    """A pair with its numbers.

    Attributes:
        reference: The reference.
        translation: The translation.
        reference_number: A number of the reference, e.g. its P(reference); None if there is none.
        translation_number: The same of the translation.
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
    found: dict[str, Example] = {}
    for row in order:
        key = translations[row].casefold()
        if len(found) == count:
            break
        if key in found or key == references[row].casefold():
            continue
        first = None if numbers[0] is None else float(numbers[0][row])
        found[key] = Example(references[row], translations[row], first, float(numbers[1][row]))
    return list(found.values())

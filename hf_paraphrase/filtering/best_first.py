"""The best pairs first: so many of them, or as many as have so many tokens."""

from __future__ import annotations

import numpy as np


def take_best_first(
    rows: int,
    *,
    ranking: np.ndarray | None = None,
    first: int | None = None,
    lengths: np.ndarray | None = None,
    max_tokens: int | None = None,
) -> np.ndarray:
    """Chooses rows from the beginning of a ranked list.

    Sjöblom, Creutz and Aulamo (2018) take the wanted number of pairs from the beginning of a data set that is ranked
    (section 3.2), and of another as many as have the same number of tokens (section 4.3).

    Args:
        rows: How many rows there are.
        ranking: What they are ranked by, the highest first (rows,); NaN comes last, and of equal rows the earlier one
            is the better. None where they are in the order of their rank already.
        first: How many rows to take; None for no limit.
        lengths: The tokens of each row, both sides together (rows,); for `max_tokens`.
        max_tokens: Take rows until they have so many tokens; the row that reaches the number counts. None for no
            limit.

    Returns:
        The positions of the chosen rows, ascending, int64.

    Raises:
        ValueError: If a limit on tokens comes without lengths.
    """
    order = np.arange(rows) if ranking is None else np.argsort(-ranking, kind="stable")
    if first is not None:
        order = order[:first]
    if max_tokens is not None:
        if lengths is None:
            raise ValueError("a limit on tokens needs lengths")
        reached = np.cumsum(lengths[order])
        order = order[: int(np.searchsorted(reached, max_tokens)) + 1]
    return np.sort(order)

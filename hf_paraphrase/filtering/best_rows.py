"""Which rows to take: one translation of each reference, the first ones of a ranked list, or some by chance."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..errors import UsageError, choice_of

WAYS: dict[str, tuple[str, ...]] = {
    "best": ("rank",),
    "random": (),
    "diverse": ("bleu",),
}
"""The ways to choose, and the column each needs besides the reference.

* `best`: the lowest `rank`, the one most probable under the translation model.
* `random`: any of them, drawn with the seed.
* `diverse`: the lowest sentence BLEU against the reference, the wording furthest from it.
"""


def choose_one_per_reference(
    references: Sequence[str | int | None] | np.ndarray, way: str, values: np.ndarray | None = None, seed: int = 0
) -> np.ndarray:
    """Chooses one row for each distinct reference.

    Args:
        references: What identifies the reference of each row (rows,): its id, or its text.
        way: A key of :data:`WAYS`.
        values: For `best` and `diverse` the numbers of which the lowest wins (rows,); NaN loses. Of equal ones
            the earlier row wins.
        seed: Seed of `random`.

    Returns:
        The positions of the chosen rows, ascending, int64.
    """
    if way not in WAYS:
        raise UsageError(f"--one-per-reference: unknown way `{way}`", remedy=choice_of(way, WAYS))
    numbers: dict[object, int] = {}
    groups = np.fromiter((numbers.setdefault(item, len(numbers)) for item in references), dtype=np.int64)
    if way == "random":
        order = np.random.default_rng(seed).permutation(len(groups))
    else:
        if values is None:
            raise ValueError(f"the way `{way}` needs values")
        order = np.argsort(values, kind="stable")
    _, first = np.unique(groups[order], return_index=True)
    return np.sort(order[first])


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


def draw_shared(rows: np.ndarray, size: int, total: int, seed: int) -> np.ndarray:
    """Draws rows without replacement, so that draws from overlapping rows share as many as chance allows.

    The seed puts all rows of the folder into one random order, and the first of those to draw from are taken. Two
    filters with one seed are then compared on pairs that differ by what the filters do, not by the luck of the draw.

    Args:
        rows: The rows to draw from (rows,).
        size: How many to draw, at most as many as there are.
        total: How many rows the folder has.
        seed: Seed of the order.

    Returns:
        The drawn rows, ascending, int64.
    """
    if size >= len(rows):
        return np.sort(rows)
    places = np.random.default_rng([seed, 1]).random(total)[rows]
    return np.sort(rows[np.argpartition(places, size)[:size]])

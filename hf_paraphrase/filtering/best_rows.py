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
    """Chooses one row for each distinct reference: for `best` and `diverse` the first with the lowest value, NaN last.

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
    """Chooses rows from the beginning of a ranked list, `first` of them or until they have `max_tokens`.

    Sjöblom, Creutz and Aulamo (2018) take the wanted number of pairs from the beginning of a data set that is ranked
    (section 3.2), and of another as many as have the same number of tokens (section 4.3). The highest of `ranking`
    (rows,) come first, NaN last, of equal rows the earlier one; without it the rows are ranked already. `lengths` has
    the tokens of both sides of each row (rows,); the row that reaches the number of tokens counts.

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
    """Draws rows of a folder of `total` rows, so that draws from overlapping rows share as many as chance allows.

    The seed puts all rows of the folder into one random order, and the first of those to draw from are taken. Two
    filters with one seed are then compared on pairs that differ by what the filters do, not by the luck of the draw.

    Returns:
        The drawn rows, ascending, int64.
    """
    if size >= len(rows):
        return np.sort(rows)
    places = np.random.default_rng([seed, 1]).random(total)[rows]
    return np.sort(rows[np.argpartition(places, size)[:size]])

"""One translation per reference: an n-best list becomes ordinary pairs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..errors import UsageError

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

    Raises:
        UsageError: For an unknown way.
    """
    if way not in WAYS:
        raise UsageError(f"--one-per-reference: unknown way `{way}`", remedy=f"one of {', '.join(WAYS)}")
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

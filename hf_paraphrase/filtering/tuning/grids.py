"""The grids of filter ranges that paper 000 tunes over (Wieting, Mallinson and Gimpel 2017, sections 5.5 to 5.7).

The length ranges stand in the paper. Those of the other measures are lost from its text; they are recollected and so
marked in :data:`RECOLLECTED`. The paper's own remarks fit them: the best lower bounds of overlap are often 0 or 0.1,
the best upper ones 0.6 to 0.7.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...errors import UsageError, choice_of
from ..selections import Selection, parse_selection

RANDOM = "random"
"""The filter that selects nothing away: pairs drawn at random, what all others are compared with."""
UNBOUNDED = "unbounded"
"""The range of a filter that selects nothing away; its pairs are those of the random selection."""
RECOLLECTED = frozenset({"cost", "perplexity", "reference_probability", "overlap_1", "overlap_2", "overlap_3", "bleu"})
"""Filters whose ranges are not in the paper's text as we have it."""


@dataclass(frozen=True)
class FilterRange:
    """One point of a grid.

    Attributes:
        filter: The grid's name, e.g. `length`.
        label: The range as text; empty for :data:`RANDOM`, and :data:`UNBOUNDED` for a range without bounds.
        selections: The predicates, all of which must hold.
    """

    filter: str
    label: str
    selections: tuple[Selection, ...] = ()


def _between(column: str, low: float, high: float) -> str:
    return f"{low:g}<={column}<={high:g}"


def _lower_and_upper(column: str) -> tuple[str, ...]:
    lower, upper = (0.0, 0.1, 0.2, 0.3), (0.6, 0.7, 0.8, 0.9, 1.0)
    return tuple(_between(column, low, high) for low in lower for high in upper)


_LENGTHS = [(0, 10), (0, 15), (0, 20), (0, 30), (0, 100), (10, 20), (10, 30), (10, 100), (15, 25), (15, 30)]
_LENGTHS += [(15, 100), (20, 30), (20, 100), (30, 100)]

GRIDS: dict[str, tuple[str, ...]] = {
    "length": tuple(_between("length", low, high) for low, high in _LENGTHS),
    "length_bins": ("0<length<=10", "10<length<=20", "20<length<=30", "30<length<=100"),
    "cost": tuple(f"cost<={tenths / 10:g}" for tenths in range(2, 11)),
    "perplexity": tuple(f"perplexity<={bound}" for bound in (25, 50, 75, 100, 150, 200)),
    "reference_probability": tuple(f"reference_probability>={tenths / 10:g}" for tenths in range(10)),
    "overlap_1": _lower_and_upper("overlap_1"),
    "overlap_2": _lower_and_upper("overlap_2"),
    "overlap_3": _lower_and_upper("overlap_3"),
    "bleu": _lower_and_upper("bleu"),
}
"""For each filter its ranges, as `filter --keep` takes them.

* `length`: tokens of the translation (section 5.5, table 6), both ends included.
* `length_bins`: the partition of table 5, the lower end excluded.
* `cost`, `perplexity`: upper bounds (section 5.6). That of perplexity may be infinite (:data:`UNBOUNDED_FILTERS`).
* `reference_probability`: lower bounds (section 5.6).
* `overlap_1` … `overlap_3`, `bleu`: lower by upper bounds (section 5.7).
"""

UNBOUNDED_FILTERS = frozenset({"perplexity"})
"""Filters that have :data:`UNBOUNDED` as their last range: the dev set may choose not to filter by them at all."""


def filter_ranges(filters: Sequence[str], keep: Sequence[str] = ()) -> list[FilterRange]:
    """Lists the points of some grids, the random selection first.

    Args:
        filters: Names of :data:`GRIDS`.
        keep: Further points; each may join several comparisons with commas, all of which must hold. Those over the
            same columns are one grid, named after them (`bleu`, `overlap_1+bleu`), and join that of :data:`GRIDS` if
            there is one.
    """
    unknown = [name for name in filters if name not in GRIDS]
    if unknown:
        raise UsageError(f"--filters: unknown {', '.join(unknown)}", remedy=choice_of(unknown[0], GRIDS))
    points = [FilterRange(RANDOM, "")]
    for name in dict.fromkeys(filters):
        points += [FilterRange(name, text, (parse_selection(text),)) for text in GRIDS[name]]
        points += [FilterRange(name, UNBOUNDED)] if name in UNBOUNDED_FILTERS else []
    for text in dict.fromkeys(keep):
        parts = tuple(parse_selection(part) for part in text.split(",") if part.strip())
        if not parts:
            raise UsageError(f"--keep: there is no comparison in `{text}`", remedy="write for example overlap_1<=0.7")
        points.append(FilterRange(_name(parts), text.strip(), parts))
    # A range that the user adds to a grid may be in it.
    return list({(point.filter, point.label): point for point in points}.values())


def _name(parts: Sequence[Selection]) -> str:
    columns = "+".join(sorted({part.columns[0] if part.compares else part.text for part in parts}))
    return f"{RANDOM} (column)" if columns == RANDOM else columns

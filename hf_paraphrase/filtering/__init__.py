"""Measures, which add columns to pairs, and selections, which are predicates on columns.

`choose_rows` finds the pairs of a data folder that satisfy some `FilterOptions`, and how many each of them left over;
`parse_selection` reads one selection, such as `overlap_1<=0.7`. Columns are added by the verb `score`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy_attributes

if TYPE_CHECKING:
    from .pipeline import Choice as Choice
    from .pipeline import FilterOptions as FilterOptions
    from .pipeline import choose_rows as choose_rows
    from .pipeline import kept_batches as kept_batches
    from .selections import Selection as Selection
    from .selections import apply_selection as apply_selection
    from .selections import parse_selection as parse_selection

_MODULE_OF = {
    "Choice": ".pipeline",
    "FilterOptions": ".pipeline",
    "choose_rows": ".pipeline",
    "kept_batches": ".pipeline",
    "Selection": ".selections",
    "apply_selection": ".selections",
    "parse_selection": ".selections",
}

__all__ = [*_MODULE_OF]


__getattr__, __dir__ = lazy_attributes(__name__, _MODULE_OF)

"""Measures, which add columns to pairs, and selections, which are predicates on columns.

`choose_rows` finds the pairs of a data folder that satisfy some `FilterOptions`, and how many each of them left over;
`parse_selection` reads one selection, such as `overlap_1<=0.7`. Columns are added by the verb `score`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy_exports

if TYPE_CHECKING:
    from .pipeline import Choice, FilterOptions, choose_rows, kept_batches
    from .selections import Selection, apply_selection, parse_selection

__getattr__, __dir__, __all__ = lazy_exports(__name__)

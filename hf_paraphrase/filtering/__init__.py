"""Measures, which add columns to pairs, and selections, which are predicates on columns.

In come folders of pairs, out come folders of pairs: with measures as columns (`score`), and fewer of them
(`filter_pairs`). `measuring` applies the `measures/`, `selections` says what is kept, `row_choice` keeps it.
`language_model` makes what a measure needs, `tuning/` tries many selections. Start with `scoring.py` and `filter.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..registry import lazy_exports

if TYPE_CHECKING:
    from .filter import filter_pairs
    from .measures import Measure
    from .measuring import Measures, PairScorer, add_measures
    from .pair_batch import PairBatch
    from .row_choice import FilterSteps, PairFilter, choose_rows, kept_batches
    from .scoring import score
    from .selections import Selection, apply_selection, parse_selection

__getattr__, __dir__, __all__ = lazy_exports(__name__)

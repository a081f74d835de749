"""Measures, which add columns to pairs, and selections, which are predicates on columns.

In come folders of pairs, out come folders of pairs: with measures as columns (`score`), and fewer of them
(`filter`). `measuring` applies the `measures/`, `selections` says what is kept, `filter_pipeline` keeps it.
`language_model` makes what a measure needs, `tuning/` tries many selections. Start with `scoring.py` and `filter.py`.
"""

from __future__ import annotations

from ..registry import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "measures": ["Measure"],
        "measuring": ["Measures", "PairScorer", "add_measures"],
        "pair_batch": ["PairBatch"],
        "filter_pipeline": ["FilterPipeline", "PairFilter", "choose_rows", "kept_batches"],
        "scoring": ["score"],
        "selections": ["Selection", "apply_selection", "parse_selection"],
    },
)

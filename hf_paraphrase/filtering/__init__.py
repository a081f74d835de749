"""Measures, which add columns to pairs, and selections, which are predicates on columns.

Both commands read and write folders of pairs: `score` adds measures as columns, `filter` removes pairs. `measuring`
applies the `measures/`, `selections` parses predicates, `filter_pipeline` applies them. `language_model` estimates the
model of a measure, `tuning/` tries many selections. Start with `scoring.py` and `filter.py`.
"""

from __future__ import annotations

from ..registry import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "measures": ["Measure", "PairBatch"],
        "measuring": ["Measures", "PairScorer", "add_measures"],
        "filter_pipeline": ["FilterPipeline", "PairFilter", "choose_rows", "kept_batches"],
        "scoring": ["score"],
        "selections": ["Selection", "apply_selection", "parse_selection"],
    },
)

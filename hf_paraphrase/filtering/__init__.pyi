# Written by scripts/documentation/stubs.py; run it after a change of public names or settings.

from hf_paraphrase import score

from .filter_pipeline import FilterPipeline, PairFilter, choose_rows, kept_batches
from .measures import Measure, PairBatch
from .measuring import Measures, PairScorer, add_measures
from .selections import Selection, apply_selection, parse_selection

__all__ = [
    "FilterPipeline",
    "Measure",
    "Measures",
    "PairBatch",
    "PairFilter",
    "PairScorer",
    "Selection",
    "add_measures",
    "apply_selection",
    "choose_rows",
    "kept_batches",
    "parse_selection",
    "score",
]

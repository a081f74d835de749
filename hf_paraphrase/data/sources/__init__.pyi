# Written by scripts/documentation/stubs.py; run it after a change of public names or settings.

from hf_paraphrase import prepare_bitext, prepare_pairs, prepare_pivot

from .loading import SourceBuilder, load_dataset
from .preparation import prepare
from .rows import SourceRows
from .source import Part, Source

__all__ = [
    "Part",
    "Source",
    "SourceBuilder",
    "SourceRows",
    "load_dataset",
    "prepare",
    "prepare_bitext",
    "prepare_pairs",
    "prepare_pivot",
]

# Written by scripts/documentation/stubs.py; run it after a change of public names or settings.

from ..text.fingerprints import Fingerprints
from .batch_function import BatchFunction
from .decontamination import Decontaminator, load_fingerprints
from .folder import DataFolder, write_split
from .pair_rows import PairLabels, PairRows, iterate_pairs
from .rows import Rows, open_rows

__all__ = [
    "BatchFunction",
    "DataFolder",
    "Decontaminator",
    "Fingerprints",
    "PairLabels",
    "PairRows",
    "Rows",
    "iterate_pairs",
    "load_fingerprints",
    "open_rows",
    "write_split",
]

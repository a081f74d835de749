# Written by scripts/documentation/stubs.py; run it after a change of public names or settings.

from ..text.fingerprints import Fingerprints
from .batch_function import BatchFunction
from .decontamination import Decontaminator, load_fingerprints
from .folder import DataFolder, write_split
from .pair_rows import PairRows, iterate_pairs

__all__ = [
    "BatchFunction",
    "DataFolder",
    "Decontaminator",
    "Fingerprints",
    "PairRows",
    "iterate_pairs",
    "load_fingerprints",
    "write_split",
]

"""Sentences and pairs on disk: text files, Parquet data folders, cleaning, decontamination, the built-in sample.

`DataFolder` and `write_split` read and write a data folder as Arrow tables, `load_fingerprints`
with `drop_contaminated` keeps the sentences of evaluation sets out of training data. What corpora are made of stands
in `sources`, one module a source.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy_exports

if TYPE_CHECKING:
    from .decontamination import Fingerprints, drop_contaminated, load_fingerprints
    from .folder import DataFolder, write_split
    from .pair_rows import PairRows, iterate_pairs
    from .parquet import count_rows, iterate_batches, read_schema, read_table, split_names

__getattr__, __dir__, __all__ = lazy_exports(__name__)

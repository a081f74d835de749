"""Sentences and pairs on disk: text files, Parquet data folders, cleaning, decontamination, the built-in sample.

Raw files and data folders go in, checked rows come out as Arrow tables, with memory flat as the corpus grows; nothing
here knows a model. Start reading at `folder` (`DataFolder`, a data folder opened once, and `write_split`); texts come
through `text_files`, and `decontamination` keeps the sentences of evaluation sets out of training data. What corpora
are made of stands in `sources`, one file a source.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..registry import lazy_exports

if TYPE_CHECKING:
    from .batch_function import BatchFunction
    from .decontamination import Decontaminator, load_fingerprints
    from .fingerprints import Fingerprints
    from .folder import DataFolder, write_split
    from .pair_rows import PairRows, iterate_pairs

__getattr__, __dir__, __all__ = lazy_exports(__name__)

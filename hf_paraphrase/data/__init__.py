"""Sentences and pairs on disk: text files, Parquet data folders, cleaning, decontamination, the built-in sample.

Raw files and data folders go in, checked rows come out as Arrow tables, with memory flat as the corpus grows; nothing
here knows a model. Start reading at `folder` (`DataFolder`, a data folder opened once, and `write_split`); texts come
through `text_files`, and `decontamination` keeps the sentences of evaluation sets out of training data. What corpora
are made of stands in `sources`, one file a source.
"""

from __future__ import annotations

from ..registry import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "batch_function": ["BatchFunction"],
        "decontamination": ["Decontaminator", "load_fingerprints"],
        ".text.fingerprints": ["Fingerprints"],
        "folder": ["DataFolder", "write_split"],
        "pair_rows": ["PairRows", "iterate_pairs"],
    },
)

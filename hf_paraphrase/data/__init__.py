"""Sources of bitext, paraphrases and graded sets, one module a source, and the Parquet folders that they become.

The builders are those of `datasets`; the verb `prepare` runs them. `read_table`, `iterate_batches` and `write_split`
read and write a data folder as Arrow tables, and `load_fingerprints` with `drop_contaminated` keeps the sentences of
evaluation sets out of training data.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy_attributes

if TYPE_CHECKING:
    from .bitext import BitextBuilder as BitextBuilder
    from .decontamination import Fingerprints as Fingerprints
    from .decontamination import drop_contaminated as drop_contaminated
    from .decontamination import load_fingerprints as load_fingerprints
    from .opusparcus import OpusparcusBuilder as OpusparcusBuilder
    from .pairs import PairsBuilder as PairsBuilder
    from .parquet import count_rows as count_rows
    from .parquet import iterate_batches as iterate_batches
    from .parquet import read_schema as read_schema
    from .parquet import read_table as read_table
    from .parquet import split_names as split_names
    from .parquet import write_split as write_split
    from .ppdb import PpdbBuilder as PpdbBuilder
    from .simpwiki import SimpwikiBuilder as SimpwikiBuilder

_MODULE_OF = {
    "BitextBuilder": ".bitext",
    "Fingerprints": ".decontamination",
    "drop_contaminated": ".decontamination",
    "load_fingerprints": ".decontamination",
    "OpusparcusBuilder": ".opusparcus",
    "PairsBuilder": ".pairs",
    "count_rows": ".parquet",
    "iterate_batches": ".parquet",
    "read_schema": ".parquet",
    "read_table": ".parquet",
    "split_names": ".parquet",
    "write_split": ".parquet",
    "PpdbBuilder": ".ppdb",
    "SimpwikiBuilder": ".simpwiki",
}

__all__ = [*_MODULE_OF]


__getattr__, __dir__ = lazy_attributes(__name__, _MODULE_OF)

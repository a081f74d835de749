"""Reads any data set and writes data folders, in memory that does not grow with the corpus.

Input: folders, files, datasets on the Hub and tables in memory. Output: Arrow batches with columns named by role.
Start with `rows` (`open_rows`, the one entrance) and `folder` (`DataFolder`, `write_split`). `layout` finds splits,
`readers` reads formats, `pair_rows` reads pairs and their labels. `sources` makes data folders of raw corpora.
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
        "pair_rows": ["PairLabels", "PairRows", "iterate_pairs"],
        "rows": ["Rows", "open_rows"],
    },
)

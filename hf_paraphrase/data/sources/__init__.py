"""Sources of bitext, paraphrases and graded sets.

A source reads raw files. `prepare SOURCE` makes a Parquet data folder with a card of them, `load_dataset` a dataset. A
source of your own is one file and one line of `hf_paraphrase.registry.SOURCES`. Start reading at `source`, which says
what a source is, and at a short one, `MsrpSource` in `corpora`. All of them run through `rows`; `preparation` writes
the folder.
"""

from __future__ import annotations

from ...registry import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "bitext": ["prepare_bitext"],
        "builder": ["SourceBuilder"],
        "loading": ["load_dataset"],
        "pairs": ["prepare_pairs"],
        "pivot": ["prepare_pivot"],
        "preparation": ["prepare"],
        "rows": ["SourceRows"],
        "source": ["Part", "Source"],
    },
)

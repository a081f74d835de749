"""Sources of bitext, paraphrases and graded sets, each from its raw files.

`prepare SOURCE` makes a Parquet data folder with a card, `load_dataset` a data set of `datasets`. A new source is one
file and one line of `hf_paraphrase.registry.SOURCES`. Start with `source`, the base class, and a short source,
`MsrpSource` in `corpora`. `rows` turns the files of all sources into rows; `preparation` writes the folder.
"""

from __future__ import annotations

from ...registry import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "bitext": ["prepare_bitext"],
        "loading": ["SourceBuilder", "load_dataset"],
        "pairs": ["prepare_pairs"],
        "pivot": ["prepare_pivot"],
        "preparation": ["prepare"],
        "rows": ["SourceRows"],
        "source": ["Part", "Source"],
    },
)

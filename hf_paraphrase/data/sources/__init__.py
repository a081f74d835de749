"""Sources of bitext, paraphrases and graded sets, one file a source.

Raw files of a source go in, a Parquet data folder with its card comes out (`prepare`, `prepare SOURCE`), or the rows
of `SourceBuilder`. A source of the user is one file and one line of `hf_paraphrase.registry.SOURCES`.
Start reading at `source`, what a source says about itself, and at a short one, `msrp`; then `rows`, through which
all of them run, and `preparation`, which writes the folder.
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

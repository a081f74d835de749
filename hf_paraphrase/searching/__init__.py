"""Search by meaning: a corpus of sentences in, an index folder out; queries in, their nearest sentences out.

Start with `index`: it encodes a corpus into an index folder, opens one, changes it and finds neighbours, by words as
well (`bm25`), and among rows that pass `filters`. `semantic_search` and the mining of
paraphrases need no folder. `run` is the recipe of the verb `search`, `server` answers queries over HTTP. The package
is not called `search` because the function `hf_paraphrase.search` is.
"""

from __future__ import annotations

from ..registry import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "index": ["Neighbour", "SearchIndex", "build_index"],
        "run": ["Searched", "search"],
        "server": ["ServeSettings", "serve"],
    },
)

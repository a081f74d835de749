"""Search by meaning: a corpus of sentences in, an index folder out; queries in, their nearest sentences out.

Start with `index`: it opens an index folder, changes it and finds neighbours, also by words (`bm25`) and among rows
that pass `filters`. `building` encodes a corpus. `semantic_search` compares texts in memory. `run` is the command
`search` and the function `hf_paraphrase.search`; `server` answers queries over HTTP.
"""

from __future__ import annotations

from ..registry import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "building": ["build_index"],
        "index": ["Neighbour", "SearchIndex"],
        "run": ["Searched", "search"],
        "server": ["ServeSettings", "serve"],
    },
)

"""Search by meaning: a corpus of sentences in, an index folder out; queries in, their nearest sentences out.

`nearest_neighbours` is the exact search of the whole package, `approximate` that of faiss. `index` encodes a corpus
into an index folder, opens one, changes it, finds neighbours and mines paraphrases, by words as well (`bm25`) and
among rows that pass `filters`. `server` answers queries over HTTP.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...registry import lazy_exports

if TYPE_CHECKING:
    from .index import Neighbour, SearchIndex, build_index
    from .run import Searched, search
    from .server import ServeSettings, serve

__getattr__, __dir__, __all__ = lazy_exports(__name__)

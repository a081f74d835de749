"""Search by meaning: a corpus of sentences in, an index folder out; queries in, their nearest sentences out.

Start with `index`: it encodes a corpus into an index folder, opens one, changes it and finds neighbours, by words as
well (`bm25`), among rows that pass `filters`, and by faiss (`approximate`). `semantic_search` and the mining of
paraphrases need no folder. `run` is the recipe of the verb `search`, `server` answers queries over HTTP. The package
is not called `search` because the function `hf_paraphrase.search` is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..registry import lazy_exports

if TYPE_CHECKING:
    from .index import Neighbour, SearchIndex, build_index
    from .run import Searched, search
    from .server import ServeSettings, serve

__getattr__, __dir__, __all__ = lazy_exports(__name__)

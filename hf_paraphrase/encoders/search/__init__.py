"""Search by meaning: a corpus of sentences in, an index folder out; queries in, their nearest sentences out.

`build` encodes a corpus and writes its sentences (`sentence_table`) and vectors (`vector_file`), and for approximate
search `inverted_lists`. `index` opens such a folder, finds the `nearest_neighbours` of queries, and mines paraphrases
(`paraphrase_mining`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...registry import lazy_exports

if TYPE_CHECKING:
    from .build import BuiltIndex, IndexOptions, build_index
    from .index import Neighbour, SearchIndex
    from .run import Searched, search

__getattr__, __dir__, __all__ = lazy_exports(__name__)
